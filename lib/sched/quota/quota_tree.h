// The tree of quotas as the scheduler works on it. The implicit child of each inner QOS, where the QOS's own jobs run,
// is a QOS here as any other. Rules: design section 6; docs/quotas.md. Invariants: QOS 0 is the root; a parent stands
// before its children; children are in the order of their names; a job runs at a QOS without children.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/named_counts.h"
#include "model/qos.h"
#include "model/request.h"

namespace gw::sched {

class Capacity;
struct NodeFacts;
struct PendingJob;

/// Amounts by the resources of one tree, in their order.
using Quantities = std::vector<uint64_t>;
constexpr size_t kGpu = 0;  ///< Place of GPUs in them.
constexpr uint64_t kNoLimit = UINT64_MAX;
/// Jobs that run, where their number is bounded: never a line, only a limit. A job counts 1 until its last node is
/// free.
constexpr std::string_view kJobResource = "job";
/// GPUs of the types that no QOS names; there where a QOS is guaranteed types of GPUs alone.
constexpr std::string_view kOtherGpus = "gpu:other";
/// Before the name of a licence of the cluster: never a line, only a limit of the root.
constexpr std::string_view kLicense = "license:";
constexpr uint32_t kNoQos = UINT32_MAX;

struct QosNode {
  std::string name;  ///< Of the QOS; of an implicit child the QOS's with "/" behind it.
  uint32_t parent = kNoQos;
  uint32_t depth = 0;
  std::vector<uint32_t> children;
  bool is_own = false;  ///< An implicit child.
  uint32_t weight = 1;
  int64_t priority = 0;
  bool preempt_children = false;
  base::Duration min_runtime = {};
  std::optional<base::Duration> grace;
  std::optional<base::Duration> patience;
  std::vector<bool> has_line;
  Quantities guaranteed;  ///< Of the root and of its implicit child: see Shares.
  Quantities limit;
  Quantities user_limit;  ///< Of the jobs of each user.
};

class QuotaTree {
 public:
  /// The root alone.
  QuotaTree() : QuotaTree(std::vector<model::Qos>{}) {}
  /// `list` passed check_qos_tree(). `licenses`: what the cluster has of each.
  explicit QuotaTree(const std::vector<model::Qos>& list, model::Licenses licenses = {});

  const std::vector<model::Qos>& list() const { return list_; }
  const model::Licenses& licenses() const { return licenses_; }
  const std::vector<QosNode>& nodes() const { return nodes_; }
  const QosNode& qos(uint32_t index) const { return nodes_[index]; }
  /// `gpu` is the first.
  const std::vector<std::string>& resources() const { return resources_; }
  size_t width() const { return resources_.size(); }
  /// No QOS: everything runs at the root, and no rule can bind but the numbers of licences.
  bool is_flat() const { return list_.empty(); }
  /// Somewhere each user's jobs have a limit.
  bool has_user_limits() const { return has_user_limits_; }
  /// Where jobs of a QOS run: at itself, or at its implicit child. A name that is not in the tree means the root.
  uint32_t leaf_of(const std::string& qos) const;
  std::optional<uint32_t> find(const std::string& qos) const;
  /// The deepest QOS above both, which may be one of them.
  uint32_t common(uint32_t a, uint32_t b) const;
  /// The child of `above` on the way to `below`, which is really below it.
  uint32_t towards(uint32_t above, uint32_t below) const;
  /// "QOS team-a", "jobs of QOS dept itself", "the cluster"
  std::string words(uint32_t qos) const;

  Quantities none() const { return Quantities(width(), 0); }
  /// What an allocation counts. `capacity` tells the types of GPUs.
  Quantities count(const model::Allocation& allocation, const Capacity& capacity) const;
  Quantities count(const model::NodeShare& share, const Capacity& capacity) const;
  /// Licences, which no allocation tells of.
  Quantities count(const model::Licenses& licenses) const;
  /// Those of a job with all its components.
  Quantities count_licenses(const PendingJob& job) const;
  /// Likewise, of an extension of an elastic gang, which is no job of its own.
  Quantities count_extension(const model::Allocation& allocation, const Capacity& capacity) const;
  /// Of what a suspended job still holds: neither a job nor nodes, which it counts again when it resumes.
  Quantities count_kept(const model::Allocation& allocation, const Capacity& capacity) const;
  /// What an elastic gang counts for so many tasks more.
  Quantities count_growth(const model::Request& request, uint32_t tasks) const;
  /// What a waiting job will count at the least, with all its components.
  Quantities count(const PendingJob& job) const;
  /// What a node offers; nothing while it is not usable.
  Quantities count(const NodeFacts& node) const;

 private:
  std::vector<model::Qos> list_;
  model::Licenses licenses_;
  std::vector<std::string> resources_;
  std::vector<QosNode> nodes_;
  std::map<std::string, uint32_t> index_;  // by QOS::name
  bool has_types_ = false;
  bool has_user_limits_ = false;

  void collect_resources();
  void add_below(uint32_t parent, const std::string& parent_name);
  QosNode inherit(uint32_t parent) const;
  void set_lines(const model::Qos& qos, QosNode& node) const;
  void add_own(uint32_t parent);
  void count_request(const model::Request& request, Quantities& out) const;
  void count_exactly(const model::Request& request, Quantities& out) const;
  void count_job(Quantities& out) const;
  /// So many GPUs of a type, in its own resource; nothing of a type "" or where none is there.
  void count_type(const std::string& type, uint64_t milli, Quantities& out) const;
};

/// a += b, a -= b (never below zero), and a <= b in every place.
void add_to(Quantities& a, const Quantities& b);
void take_from(Quantities& a, const Quantities& b);

}  // namespace gw::sched
