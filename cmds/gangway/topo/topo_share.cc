// Units of a share. See topo_share.h.
#include "cmds/gangway/topo/topo_share.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/bitset.h"
#include "base/text.h"
#include "sched/units/unit_table.h"

namespace gw::cmds {
namespace {

using base::IndexSet;

std::vector<std::string> nic_names(const model::NodeTopology& node, const std::vector<uint32_t>& nics) {
  std::vector<std::string> out;
  for (uint32_t n : nics) out.push_back(node.nics[n].name);
  return out;
}

std::string plural(const char* word, const IndexSet& set) {
  return fmt::format("{}{} {}", word, set.size() == 1 ? "" : "s", set.text());
}

}  // namespace

base::Result<ShareView> share_of(const model::NodeTopology& node, uint32_t job, const wire::NodeShare& share) {
  GW_TRY(gpus, IndexSet::parse(share.gpus()));
  GW_TRY(cores, IndexSet::parse(share.cores()));
  for (uint32_t g : gpus.to_vector())
    if (g >= node.gpus.size()) return base::invalid(fmt::format("node {} has no GPU {}", share.node(), g));
  for (uint32_t c : cores.to_vector())
    if (c >= node.cores.size()) return base::invalid(fmt::format("node {} has no core {}", share.node(), c));
  const sched::UnitTable table(std::make_shared<const model::NodeTopology>(node));
  ShareView view{job, share.tasks(), share.cpus(), share.mem_mb(), {}, cores, table.numa(gpus, cores)};
  for (uint32_t g : gpus.to_vector()) {
    IndexSet near;
    for (uint32_t core : node.gpus[g].near_cores) near.insert(core);
    near &= cores;
    auto unit = std::find_if(view.units.begin(), view.units.end(), [&](const auto& u) { return u.cores == near; });
    if (unit == view.units.end()) unit = view.units.insert(unit, ShareUnit{{}, near, {}, {}});
    unit->gpus.insert(g);
    unit->numa.insert(node.gpus[g].numa);
    unit->nics = table.nics(unit->gpus);
    view.other_cores -= near;
  }
  return view;
}

std::string share_text(const model::NodeTopology& node, const ShareView& share) {
  std::string out = fmt::format("job {} here: {} task{}, {} CPU{}, {} memory on {}\n", share.job, share.tasks,
                                share.tasks == 1 ? "" : "s", share.cpus, share.cpus == 1 ? "" : "s",
                                base::format_memory_mb(share.mem_mb), plural("NUMA node", share.numa));
  for (const ShareUnit& unit : share.units) {
    const std::vector<std::string> nics = nic_names(node, unit.nics);
    out += fmt::format("  {}  {}  {}  {}\n", plural("GPU", unit.gpus),
                       unit.cores.empty() ? "no core near it" : plural("core", unit.cores),
                       nics.empty() ? "no NIC" : (nics.size() == 1 ? "NIC " : "NICs ") + base::join(nics, ","),
                       plural("NUMA node", unit.numa));
  }
  if (!share.other_cores.empty())
    out += fmt::format("  {}{}\n", plural("core", share.other_cores),
                       share.units.empty() ? "" : "  near none of its GPUs");
  return out;
}

nlohmann::json share_json(const model::NodeTopology& node, const ShareView& share) {
  nlohmann::json out = {{"job_id", share.job},
                        {"tasks", share.tasks},
                        {"cpus", share.cpus},
                        {"memory_mb", share.mem_mb},
                        {"units", nlohmann::json::array()},
                        {"other_cores", share.other_cores.to_vector()},
                        {"numa_nodes", share.numa.to_vector()}};
  for (const ShareUnit& unit : share.units)
    out["units"].push_back({{"gpus", unit.gpus.to_vector()},
                            {"cores", unit.cores.to_vector()},
                            {"nics", nic_names(node, unit.nics)},
                            {"numa_nodes", unit.numa.to_vector()}});
  return out;
}

}  // namespace gw::cmds
