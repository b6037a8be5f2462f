// The filters that come with the scheduler: those of plugins/filter, linked in. See the header.
#include "sched/policy/filter_policy.h"

#include <fmt/format.h>

#include <utility>

#include "base/text.h"

namespace gw::sched {
namespace builtin::filter {
// Each is defined by GW_FILTER_PLUGIN in plugins/filter/NAME.cc; the build lists these files.
#define GW_IN_TREE_FILTER(plugin_name, ...) const FilterPlugin* plugin_name();
#include "in_tree_filters.inc"
#undef GW_IN_TREE_FILTER
}  // namespace builtin::filter

namespace {

constexpr const FilterPlugin* (*kFilters[])() = {
#define GW_IN_TREE_FILTER(plugin_name, ...) builtin::filter::plugin_name,
#include "in_tree_filters.inc"
#undef GW_IN_TREE_FILTER
};

}  // namespace

std::vector<std::string> filter_names() {
  std::vector<std::string> out;
  for (const auto factory : kFilters) out.emplace_back(factory()->name);
  return out;
}

base::Result<std::shared_ptr<const FilterPolicy>> make_filter(std::string_view name, const Weights& weights) {
  for (const auto factory : kFilters)
    if (factory()->name == name) return factory()->make(weights);
  std::string hint = base::did_you_mean(name, filter_names());
  if (hint.empty()) hint = "one of " + base::join(filter_names(), ", ");
  return base::invalid(fmt::format("unknown filter {}", base::printable(name)), hint);
}

base::Result<PoolFilters> choose_filters(const std::vector<model::Partition>& partitions, const ChooseFilter& choose) {
  PoolFilters out;
  for (const model::Partition& p : partitions) {
    if (p.filter.empty()) continue;
    auto chosen = choose(p.filter, p.filter_weights);
    if (!chosen)
      return base::fail(chosen.error().code, fmt::format("partition {}: filter: {}", p.name, chosen.error().what),
                        chosen.error().hint);
    out[p.name] = std::move(*chosen);
  }
  return out;
}

}  // namespace gw::sched
