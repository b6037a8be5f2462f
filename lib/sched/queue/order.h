// The `order` kind of plug-in: which job is served next, and which running job yields to one that waits. The
// scheduler's own orders are written against this header too. An order acts among the jobs of one QOS and one
// partition: the rules of the quotas stand above it. Combining rule: for each job one order is in force, that of the
// first partition that it names (orders.h); jobs are served by partition tier, then submitted priority, then score
// (higher first), then nice, first submission, id; heads of lines with different orders by all of these but the score.
// Contract: a pure function of its arguments. Among jobs of one class (equal but for id, user, priority, nice, service
// and times) the score must agree with (key(), nice, submission): the scheduler asks only the first job of each class.
// A score or key that time alone changes does so at the moments that next_change() names.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/plugin.h"
#include "base/result.h"
#include "sched/ledger/capacity.h"
#include "sched/place/node_score.h"
#include "sched/queue/queue.h"
#include "sched/queue/service_sample.h"

namespace gw::sched {

/// Counts up with each change of this header or of what it shows.
constexpr uint32_t kOrderInterface = 7;

/// The configuration's `order_weights`.
using base::Weights;

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

/// What an order works out of all who wait and run together, before it ranks anybody (Order::survey()).
struct Survey {
  virtual ~Survey() = default;
};

/// What an order is told of a job, whether it waits or runs.
struct JobFacts {
  const PendingJob& job;
  Time now;  ///< When that is so.
  bool is_running = false;
  Time since = {};         ///< It runs since then; one that waits could have started since then, or is suspended.
  Duration attained = {};  ///< Service so far: time multiplied by GPUs (32 threads without GPUs count as one).
  /// Time still to run, as far as is known; kUnlimited: it is not, or the job has run for longer than it told
  /// (PendingJob::overruns), which next_change() has no need to name.
  Duration remaining = base::kUnlimited;
  double asked = 0;  ///< GPUs that it asks for (threads by the thirty-two): the same whether it waits or runs.
  double gpus = 0;   ///< By which `attained` grows while it runs: what it holds, which may be more; else `asked`.
  /// GPUs of all that its user runs in this QOS and partition, without those that make room already; with
  /// Needs::holdings.
  double held_by_user = 0;
  /// The largest part of any resource of the partition (GPUs, threads, memory) that the same jobs hold; with
  /// Needs::holdings.
  double dominant_share = 0;
  /// What jobs had in all that ended before; null: nothing is known. With Needs::services.
  const Services* services = nullptr;
  /// What it says that it needs, with all its components, of what its partition has; with Needs::parts.
  ResourceParts demand = {};
  /// What is free there when the pass begins, in the same measure; with Needs::parts.
  ResourceParts free = {};
  /// Of all in its QOS and partition; null outside a pass, and where no survey was made. With Needs::survey.
  const Survey* survey = nullptr;
};

/// A job that waits or runs, as a survey sees it.
struct Contender {
  JobFacts facts;
  uint64_t alike = 1;      ///< Jobs that it stands for: those of its class behind it, as far as they are not there.
  uint64_t gpu_milli = 0;  ///< Thousandths of GPUs that it asks for, or holds.
};

/// What an order goes by beside the job itself, so that nothing is worked out in vain.
struct Needs {
  bool users = false;      ///< Past use (OrderContext::usage): jobs of different users are in classes of their own.
  bool durations = false;  ///< How long jobs take. A replay tells it of a job that has no time limit.
  /// JobFacts::held_by_user and dominant_share, kept true as jobs start; jobs of users in classes of their own.
  bool holdings = false;
  bool services = false;  ///< JobFacts::services; every ten minutes at most there are others, and all is ranked anew.
  bool parts = false;     ///< JobFacts::demand and free.
  bool survey = false;    ///< Order::survey() is to be asked.
};

/// Does a running job make room for one that waits, of the same QOS, in the same partition?
enum class Yields : uint8_t {
  kNo,
  kNow,        ///< Once the QOS's min_runtime has passed, and a second since its start.
  kAtQuantum,  ///< And once it has run for the partition's quantum.
};

class Order {
 public:
  virtual ~Order() = default;
  virtual std::string_view name() const = 0;
  /// Rank of a job; higher is served first.
  virtual double score(const JobFacts& facts, const OrderContext& context) const = 0;
  /// The same in parts, whose products add up to the score. For `gprio`.
  virtual std::vector<ScorePart> parts(const JobFacts& facts, const OrderContext& context) const {
    return {{std::string(name()), score(facts, context), 1.0}};
  }
  /// Order among the jobs of one class, smaller first; time changes it only as next_change() says. Told of the job
  /// alone: no holdings, demand, free amounts or survey.
  virtual double key(const JobFacts&) const { return 0; }
  /// The first moment after the present at which time alone changes the job's score against others, or whether it
  /// yields; never() if none does. What grows alike for all that wait, such as their age, needs none.
  virtual Time next_change(const JobFacts&) const { return Time::never(); }
  /// Nothing passes the first job that is blocked in a partition.
  virtual bool is_strict() const { return false; }
  virtual Needs needs() const { return {}; }
  /// Is yields() to be asked at all?
  virtual bool is_preemptive() const { return false; }
  /// Asked only where the running job's submitted priority is not higher. Who yields must be served after the waiting
  /// job from then on, or the two would take turns without an end.
  virtual Yields yields(const JobFacts& /*running*/, const JobFacts& /*waiting*/) const { return Yields::kNo; }
  /// Jobs take turns: who yields is suspended, resumes where it was, and loses nothing. Turns end together, at whole
  /// multiples of the quantum (Yields::kAtQuantum), so that a large gang finds all of its place at once. Who can
  /// neither be suspended, with enough left for the other beside what it keeps, nor saves its work, does not yield.
  virtual bool suspends() const { return false; }
  /// With Needs::survey, asked once in a pass for each QOS and partition that somebody who waits there names first: the
  /// first of each class that waits, and those that run; `offered`: thousandths of GPUs that are free in the partition
  /// or held by those that run. What it returns is in JobFacts::survey as long as the pass lasts.
  virtual std::shared_ptr<const Survey> survey(const std::vector<Contender>& /*all*/, uint64_t /*offered*/) const {
    return nullptr;
  }
  /// How much one more task is worth to an elastic gang that has so many, against others: among gangs of one QOS and
  /// priority the one to which it is worth most grows next, and the one to which its last is worth least gives that
  /// back first. Unless an order says otherwise: by how much faster it becomes for each task that it has (the marginal
  /// gain, so that the product of all speeds grows most), as far as it told how it scales; gangs of which nothing is
  /// known grow evenly.
  virtual double gain(const PendingJob& gang, uint32_t tasks) const {
    return gang.scaling / 100.0 / static_cast<double>(tasks == 0 ? 1 : tasks);
  }
  /// Says which node is taken where neither the job nor the partition says a fit; null: the cluster's fit does.
  virtual const NodeScore* nodes() const { return nullptr; }
};

using OrderPlugin = base::Plugin<Order>;
/// Name of the function that a plug-in exports.
constexpr const char* kOrderFactory = "gangway_order_plugin";

/// OrderPlugin::make of an order without weights.
template <typename T>
base::Result<std::shared_ptr<const Order>> make_plain(const Weights& weights) {
  return base::make_without_weights<Order, T>(weights);
}

/// Makes an order of a name: make_order(), or the loader of plug-ins.
using MakeOrder = std::function<base::Result<std::shared_ptr<const Order>>(std::string_view, const Weights&)>;

/// The orders that come with the scheduler (those of plugins/order), without loading a file: for tests, and where none
/// is configured. Errors: unknown name (with "did you mean"), unknown weight.
base::Result<std::shared_ptr<const Order>> make_order(std::string_view name, const Weights& weights = {});
/// Names that make_order() knows.
std::vector<std::string> order_names();

}  // namespace gw::sched

// Defines the exported function of a plug-in: GW_ORDER_PLUGIN(NAME, MAKE), NAME as a word.
#define GW_ORDER_PLUGIN(plugin_name, make_it) \
  GW_PLUGIN_OF(order, ::gw::sched::Order, ::gw::sched::kOrderInterface, GW_ORDER_BUILD_HASH, plugin_name, make_it)
