// The `order` kind of plug-in: which job is served next. The scheduler's own orders are written against this header
// too. Combining rule: exactly one order is in force; jobs are served by partition tier, then submitted priority, then
// score (higher first), then first submission, then id.
// Contract: a pure function of its arguments. Among jobs of one class (equal but for id, user, priority, nice and
// times) the score must agree with (key(), nice, submission): the scheduler asks only the first job of each class.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sched/capacity.h"
#include "sched/queue.h"

namespace gw::sched {

/// Counts up with each change of this header or of what it shows.
constexpr uint32_t kOrderInterface = 1;

/// One named weight of the configuration's `order_weights`.
using Weights = std::map<std::string, double>;

/// What an order may look at beside the job.
struct OrderContext {
  Time now;
  ClusterSize size;
  /// Decayed use of each user (GPU-seconds, CPU-seconds / 32 without GPUs), and its sum.
  const std::map<uint32_t, double>* usage = nullptr;
  double total_usage = 0;
  const std::map<std::string, double>* partition_priority = nullptr;
};

/// A part of a score, for `gprio`.
struct ScorePart {
  std::string name;
  double factor = 0;  ///< In [0, 1] where that makes sense.
  double weight = 0;
  double product() const { return factor * weight; }
};

class Order {
 public:
  virtual ~Order() = default;
  virtual std::string_view name() const = 0;
  /// Rank of a waiting job; higher is served first.
  virtual double score(const PendingJob& job, const OrderContext& context) const = 0;
  /// The same in parts, whose products add up to the score. For `gprio`.
  virtual std::vector<ScorePart> parts(const PendingJob& job, const OrderContext& context) const {
    return {{std::string(name()), score(job, context), 1.0}};
  }
  /// Order among the jobs of one class, smaller first; must not depend on time.
  virtual double key(const PendingJob&) const { return 0; }
  /// Nothing passes the first job that is blocked in a partition.
  virtual bool is_strict() const { return false; }
  /// Running jobs that rank behind a blocked one are taken off for it.
  virtual bool is_preemptive() const { return false; }
  /// Jobs of different users rank differently: they are in classes of their own.
  virtual bool looks_at_users() const { return false; }
};

/// The orders that come with the scheduler: fifo, fifo_skip, multifactor, shortest, srtf. Errors: unknown name (with
/// "did you mean"), unknown weight.
base::Result<std::shared_ptr<const Order>> make_order(std::string_view name, const Weights& weights = {});
/// Names that make_order() knows.
std::vector<std::string> order_names();

}  // namespace gw::sched
