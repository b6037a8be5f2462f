// The `filter` kind of plug-in: which nodes of a partition a job may go on, beyond what it asks of them itself.
// Combining rule: a partition has at most one (partitions[].filter); it only ever takes nodes away, and it is asked
// after names, features and types. Contract: a pure function; nodes that are alike in all that a filter is shown are
// asked about once, and what it says of a node does not change with the node's use.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/plugin.h"
#include "model/cluster.h"

namespace gw::sched {

using base::Weights;

/// Counts up with each change of this header or of what it shows.
constexpr uint32_t kFilterInterface = 1;

/// What a job, or one component of it, would have of a node.
struct FilterJob {
  bool is_whole_node = false;  ///< It wants nodes to itself.
  uint64_t gpu_milli = 0;     ///< Thousandths of GPUs, the most that it could take on one node, however large; 0: none.
  std::string_view gpu_type;  ///< Empty: any.
  uint64_t cpus = 0;          ///< Hardware threads of its tasks, the most that could be on one node.
  uint32_t min_nodes = 1;
};

/// What a node offers, whoever uses it.
struct FilterNode {
  uint32_t gpus = 0;
  uint32_t cpus = 0;  ///< Hardware threads.
  uint64_t mem_mb = 0;
  const std::vector<std::string>& features;
};

class FilterPolicy {
 public:
  virtual ~FilterPolicy() = default;
  virtual std::string_view name() const = 0;
  virtual bool lets_on(const FilterJob& job, const FilterNode& node) const = 0;
  /// For whom it keeps nodes, for people: "jobs that ask for GPUs".
  virtual std::string kept_for() const = 0;
};

using FilterPlugin = base::Plugin<FilterPolicy>;
/// Name of the function that a plug-in exports.
constexpr const char* kFilterFactory = "gangway_filter_plugin";

/// A filter of the configuration, with what a snapshot tells of it.
struct ChosenFilter {
  std::string name;  ///< Empty: none.
  Weights weights = {};
  std::string version = {};  ///< Of its plug-in; empty: the program's own.
  std::shared_ptr<const FilterPolicy> policy = {};
};

/// Makes a filter of a name: make_filter(), or the loader of plug-ins.
using MakeFilter =
    std::function<base::Result<std::shared_ptr<const FilterPolicy>>(std::string_view name, const Weights& weights)>;

/// The filters that come with the scheduler (those of plugins/filter), without loading a file. Errors: unknown name
/// (with "did you mean"), unknown weight.
base::Result<std::shared_ptr<const FilterPolicy>> make_filter(std::string_view name, const Weights& weights = {});
/// Names that make_filter() knows.
std::vector<std::string> filter_names();

/// By partition; those that are not there have none.
using PoolFilters = std::map<std::string, ChosenFilter>;
using ChooseFilter = std::function<base::Result<ChosenFilter>(const std::string& name, const Weights& weights)>;
/// Those of the partitions that name one. Errors: those of `choose`, with the partition's name.
base::Result<PoolFilters> choose_filters(const std::vector<model::Partition>& partitions, const ChooseFilter& choose);

}  // namespace gw::sched

#define GW_FILTER_PLUGIN(plugin_name, make_it)                                                                      \
  GW_PLUGIN_OF(filter, ::gw::sched::FilterPolicy, ::gw::sched::kFilterInterface, GW_FILTER_BUILD_HASH, plugin_name, \
               make_it)
