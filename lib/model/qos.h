// A QOS: a node of the tree of quotas. The root of the tree is the cluster; it has no Qos of its own and is written as
// an empty name. An account is a second name of a QOS. Invariant: after check_qos_tree() every parent exists, nothing
// is below itself and no name is there twice.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/calendar.h"
#include "base/result.h"
#include "base/time.h"

namespace gw::model {

/// Amounts by resource: `gpu` and `gpu:TYPE` (type in lower case) in thousandths of a GPU, `cpu` in hardware threads,
/// `mem` in MiB, `node` in nodes (each job counts the nodes that it is on).
using Amounts = std::map<std::string, uint64_t>;

/// Reads the name of a resource; types of GPUs in lower case. Errors: none of those above, with "did you mean".
base::Result<std::string> parse_resource(std::string_view text);
/// Reads an amount as people write it: `16`, `2.5` (GPUs only), `512G`. Errors: negative, not a number, out of range.
base::Result<uint64_t> parse_amount(std::string_view resource, std::string_view text);
/// The shortest text that parse_amount() reads back.
std::string format_amount(std::string_view resource, uint64_t amount);
/// "gpu:16,mem:512G"; empty for none.
std::string format_amounts(const Amounts& amounts);

/// So much use of GPUs in each period of the calendar, or in all.
struct GpuBudget {
  uint64_t gpu_seconds = 0;  ///< At least 1.
  base::Period period = base::Period::kMonth;
  /// Once it is spent its jobs only borrow GPUs, as if none were guaranteed to it. Else no job with GPUs starts until
  /// the next period.
  bool borrows = false;
  bool operator==(const GpuBudget&) const = default;
};
constexpr uint64_t kMostGpuSeconds = 1'000'000'000'000;
/// Reads `5000gpuh/month`, `300gpumin/day`, `90gpus/total`, and behind it `:borrow` or `:refuse`, which is meant
/// without one. Hours may have decimals. Errors: another unit or period, none or more than kMostGpuSeconds.
base::Result<GpuBudget> parse_gpu_budget(std::string_view text);
/// What parse_gpu_budget() reads back.
std::string format_gpu_budget(const GpuBudget& budget);
/// "5000 GPU-hours a month"
std::string words(const GpuBudget& budget);
/// "12.5": hours with two decimals at most.
std::string gpu_hours(double gpu_seconds);

/// The name that stands for the root in what users write and read.
constexpr std::string_view kRootQos = "cluster";

/// Kind of the event in the history of a job that says by which figures it was preempted, or preempted others.
constexpr std::string_view kByQuotas = "by quotas";

/// See docs/quotas.md for what each of these does.
struct Qos {
  std::string name;
  std::string parent;  ///< Empty: the root.
  std::string description;
  Amounts guaranteed;    ///< A resource that is not named has a line only if it is named above; `gpu` always has one.
  Amounts limit;         ///< Never more than that, whoever has it idle.
  uint32_t weight = 1;   ///< Its part of what nobody is guaranteed; 0: no claim on it.
  int64_t priority = 0;  ///< Higher gets what nobody is guaranteed first.
  bool preempt_children = false;        ///< Jobs of this QOS itself may take from its descendants.
  base::Duration min_runtime = {};      ///< Nobody is preempted so soon after its start; zero: as above it.
  std::optional<base::Duration> grace;  ///< How long its victims still run; not given: as above it, else the policy's.
  /// How long its jobs wait before nodes are kept for them; zero: for ever. Not given: as above it, else the policy's.
  std::optional<base::Duration> patience;
  base::Duration max_wall = {};  ///< Time limits of its jobs, and of those below it; zero: none.
  uint32_t max_jobs = 0;         ///< That run at once, with those below it; 0: no bound, and so for all of these.
  uint32_t max_submit = 0;       ///< That run or wait, with those below it.
  uint32_t max_jobs_per_user = 0, max_submit_per_user = 0;
  Amounts limit_per_user;                ///< Of what each user's jobs hold together, here and below.
  std::vector<std::string> users;        ///< Names and @groups who may submit here and below; none here or above: all.
  std::vector<std::string> operators;    ///< Who may change everything below it, and its jobs.
  std::optional<GpuBudget> budget = {};  ///< Of its jobs and of those below it.
  bool operator==(const Qos&) const = default;
};

/// What is kept of a user.
struct QuotaUser {
  std::string name;
  std::string default_qos;               ///< Of jobs that name none; empty: that of everybody.
  std::optional<GpuBudget> budget = {};  ///< Of all its jobs.
  bool operator==(const QuotaUser&) const = default;
};

/// What a QOS may take back from another (rule 5).
enum class Reclaim : uint8_t { kNone, kGuaranteed, kFairShare };
/// "fair_share"
std::string_view name(Reclaim reclaim);
/// Errors: none of the three, with "did you mean".
base::Result<Reclaim> parse_reclaim(std::string_view text);

/// The guarantees as the rules of the quotas know them: where only types of GPUs are named, `gpu` is their sum.
Amounts guarantees_of(const Qos& qos);
/// Does it name types of GPUs, but no `gpu`? Then other types are not guaranteed to it.
bool names_types_alone(const Qos& qos);

/// A fault of a tree, and the QOS that it is told of.
struct QosFault {
  std::string qos;
  base::Error error;
};
/// Checks names, parents and loops, and tells the first fault.
std::optional<QosFault> check_qos_tree(const std::vector<Qos>& tree);
/// Of a QOS and those above it the one whose max_wall is the shortest; null: none has one. The tree need not be
/// checked.
const Qos* shortest_wall(const std::vector<Qos>& tree, const std::string& qos);
/// Rule 1: guarantees of children that add up to more than their parent's. The tree passed check_qos_tree(). `capacity`
/// is what the root has; a resource that it does not name is not checked there.
std::optional<QosFault> check_guarantees(const std::vector<Qos>& tree, const Amounts& capacity);
/// What may not be meant so: guarantees that leave out a resource which is guaranteed above, guarantees of `gpu` beside
/// those of types, and of `cpu` or `mem` beside those of GPUs alone. The tree passed check_qos_tree().
std::vector<QosFault> doubtful_guarantees(const std::vector<Qos>& tree);

}  // namespace gw::model
