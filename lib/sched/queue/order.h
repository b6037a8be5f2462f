// The `order` kind of plug-in: which job is served next. The scheduler's own orders are written against this header
// too. Combining rule: exactly one order is in force; jobs are served by partition tier, then submitted priority, then
// score (higher first), then first submission, then id.
// Contract: a pure function of its arguments. Among jobs of one class (equal but for id, user, priority, nice and
// times) the score must agree with (key(), nice, submission): the scheduler asks only the first job of each class.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sched/ledger/capacity.h"
#include "sched/queue/queue.h"

namespace gw::sched {

/// Counts up with each change of this header or of what it shows.
constexpr uint32_t kOrderInterface = 2;

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
  /// Running jobs that rank behind a blocked one are preempted for it.
  virtual bool is_preemptive() const { return false; }
  /// Jobs of different users rank differently: they are in classes of their own.
  virtual bool looks_at_users() const { return false; }
  /// It wants to know how long a job takes. In a replay it is told the duration of a job that has no time limit.
  virtual bool looks_at_durations() const { return false; }
};

/// What the one exported function of a plug-in returns; lives as long as the process.
struct OrderPlugin {
  uint32_t interface_version;
  const char* build_hash;
  const char* name;
  const char* version;  ///< Goes into snapshots: two plug-ins of one name and version decide alike.
  /// Errors: a weight that the order does not know.
  base::Result<std::shared_ptr<const Order>> (*make)(const Weights& weights);
};
/// Name of that function.
constexpr const char* kOrderFactory = "gangway_order_plugin";
using OrderFactory = const OrderPlugin* (*)();

/// OrderPlugin::make of an order without weights.
template <typename T>
base::Result<std::shared_ptr<const Order>> make_plain(const Weights& weights) {
  if (!weights.empty()) return base::invalid("this order has no weights, but got " + weights.begin()->first);
  return std::make_shared<const T>();
}

/// Makes an order of a name: make_order(), or the loader of plug-ins.
using MakeOrder = std::function<base::Result<std::shared_ptr<const Order>>(std::string_view, const Weights&)>;

/// The orders that come with the scheduler (those of plugins/order), without loading a file: for tests, and where none
/// is configured. Errors: unknown name (with "did you mean"), unknown weight.
base::Result<std::shared_ptr<const Order>> make_order(std::string_view name, const Weights& weights = {});
/// Names that make_order() knows.
std::vector<std::string> order_names();

}  // namespace gw::sched

// Names of the weights that an order takes: GW_ORDER_WEIGHTS(NAME, "age", ...) gives NAME_order::kWeightNames. A line
// of its own: the build reads it, so that the configuration knows them, too.
#define GW_ORDER_WEIGHTS(plugin_name, ...)                     \
  namespace plugin_name##_order {                              \
    constexpr std::string_view kWeightNames[] = {__VA_ARGS__}; \
  }

// Defines the exported function of a plug-in: GW_ORDER_PLUGIN(NAME, MAKE), NAME as a word. Linked into the scheduler
// itself it gets a name of its own instead.
#ifdef GW_ORDER_STATIC
#define GW_ORDER_PLUGIN(plugin_name, make_order)                                                            \
  namespace gw::sched::builtin {                                                                            \
  const OrderPlugin* plugin_name();                                                                         \
  const OrderPlugin* plugin_name() {                                                                        \
    static constexpr OrderPlugin kPlugin{kOrderInterface, "", #plugin_name, GANGWAY_VERSION, (make_order)}; \
    return &kPlugin;                                                                                        \
  }                                                                                                         \
  }
#else
#define GW_ORDER_PLUGIN(plugin_name, make_order)                                                                       \
  extern "C" __attribute__((visibility("default"))) const ::gw::sched::OrderPlugin* gangway_order_plugin() {           \
    static constexpr ::gw::sched::OrderPlugin kPlugin{::gw::sched::kOrderInterface, GW_ORDER_BUILD_HASH, #plugin_name, \
                                                      GANGWAY_VERSION, (make_order)};                                  \
    return &kPlugin;                                                                                                   \
  }
#endif
