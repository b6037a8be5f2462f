// Steps on a node. See topo_steps.h.
#include "cmds/gangway/topo/topo_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "attach/ranks.h"
#include "base/text.h"
#include "bind/step_cores.h"

namespace gw::cmds {
namespace {

using base::IndexSet;

std::vector<std::string> nic_names(const wire::NodeTopology& node, const bind::Place& place) {
  std::vector<std::string> names;
  for (const uint32_t nic : place.nics) names.push_back(node.nics(static_cast<int>(nic)).name());
  return names;
}

base::Status check(const std::string& node, const std::string& text, int count, const char* what) {
  GW_TRY(set, IndexSet::parse(text));
  for (const uint32_t i : set.to_vector())
    if (i >= static_cast<uint32_t>(count)) return base::invalid(fmt::format("node {} has no {} {}", node, what, i));
  return {};
}

/// Local task number to rank.
std::vector<uint32_t> ranks_on(const wire::Step& step, size_t node) {
  std::vector<uint32_t> tasks;
  for (const wire::StepNode& n : step.nodes()) tasks.push_back(n.share().tasks());
  return attach::distribute(tasks, attach::distribution_of(step))[node];
}

constexpr size_t kColumns = 5;
using Row = std::array<std::string, kColumns>;

Row row_of(const wire::NodeTopology& node, const bind::Binding& binding, const TaskView& task) {
  const bind::Place& p = task.place;
  const std::string nics = base::join(nic_names(node, p), ",");
  return {std::to_string(task.rank), binding.binds_gpus ? p.gpus.text() : "all",
          p.pus.text() + (binding.binds_cpus ? "" : " (not bound)"), p.mems.text(), nics.empty() ? "-" : nics};
}

std::string table(const std::vector<Row>& rows) {
  std::array<size_t, kColumns> widths{};
  for (const Row& row : rows)
    for (size_t i = 0; i < kColumns; ++i) widths[i] = std::max(widths[i], row[i].size());
  std::string out;
  for (const Row& row : rows) {
    std::string line;
    for (size_t i = 0; i < kColumns; ++i) line += fmt::format("  {:<{}}", row[i], widths[i]);
    out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return out;
}

/// What the tasks of a step may run on beside what it has claimed: as the node works it out.
IndexSet unclaimed_on(const wire::NodeShare& job, const wire::NodeTopology& topology,
                      const std::vector<wire::Step>& steps, const wire::Step& own) {
  std::vector<bind::StepCores> others;
  bind::StepCores claim;
  for (const wire::Step& step : steps)
    for (const wire::StepNode& n : step.nodes()) {
      if (n.share().node() != job.node() || n.is_gone()) continue;
      bind::StepCores one = bind::step_cores_of(n.share(), step.request());
      if (step.step() == own.step())
        claim = std::move(one);
      else
        others.push_back(std::move(one));
    }
  auto cores = IndexSet::parse(job.cores());
  if (!cores) return {};
  *cores &= IndexSet::first(static_cast<uint32_t>(topology.cores_size()));
  return bind::unclaimed_cores(*cores, claim, others);
}

}  // namespace

base::Result<std::vector<StepView>> steps_on(const wire::NodeShare& job, const wire::NodeTopology& topology,
                                             const std::vector<wire::Step>& steps, std::optional<uint32_t> number) {
  std::vector<StepView> views;
  for (const wire::Step& step : steps) {
    if (number && step.step() != *number) continue;
    for (int i = 0; i < step.nodes_size(); ++i) {
      const wire::NodeShare& share = step.nodes(i).share();
      if (share.node() != job.node()) continue;
      GW_TRY_STATUS(check(job.node(), share.cores(), topology.cores_size(), "core"));
      GW_TRY_STATUS(check(job.node(), share.gpus(), topology.gpus_size(), "GPU"));
      StepView view{fmt::format("{}.{}", step.job(), step.step()), step.request().name(), {}, {}, {}};
      if (!step.request().overlap()) view.claimed = bind::step_cores_of(share, step.request()).cores;
      const IndexSet rest = unclaimed_on(job, topology, steps, step);
      view.binding = bind::bind_tasks(topology, share, step.request(), rest, /*is_begun=*/true);
      const std::vector<uint32_t> ranks = ranks_on(step, static_cast<size_t>(i));
      const std::vector<bind::Place> places = std::move(view.binding.places);
      for (size_t t = 0; t < places.size() && t < ranks.size(); ++t) view.tasks.push_back({ranks[t], places[t]});
      views.push_back(std::move(view));
    }
  }
  return views;
}

std::string steps_text(const wire::NodeTopology& topology, const std::vector<StepView>& steps) {
  std::string out;
  for (const StepView& step : steps) {
    const std::string name = step.name.empty() ? "" : " (" + base::printable(step.name, 40) + ")";
    out += fmt::format("step {}{}: {} task{} here, cores {} claimed\n", step.id, name, step.tasks.size(),
                       step.tasks.size() == 1 ? "" : "s", step.claimed.empty() ? "none" : step.claimed.text());
    std::vector<Row> rows = {{"TASK", "GPUS", "CPUS", "NUMA", "NIC"}};
    for (const TaskView& task : step.tasks) rows.push_back(row_of(topology, step.binding, task));
    out += table(rows);
  }
  return out;
}

nlohmann::json steps_json(const wire::NodeTopology& topology, const std::vector<StepView>& steps) {
  nlohmann::json all = nlohmann::json::array();
  for (const StepView& step : steps) {
    nlohmann::json one = {{"step_id", step.id},
                          {"name", base::printable(step.name)},
                          {"claimed_cores", step.claimed.to_vector()},
                          {"binds_cpus", step.binding.binds_cpus},
                          {"binds_gpus", step.binding.binds_gpus},
                          {"binds_memory", step.binding.binds_memory},
                          {"tasks", nlohmann::json::array()}};
    for (const TaskView& task : step.tasks)
      one["tasks"].push_back({{"task", task.rank},
                              {"gpus", task.place.gpus.to_vector()},
                              {"cpus", task.place.pus.to_vector()},
                              {"numa_nodes", task.place.mems.to_vector()},
                              {"nics", nic_names(topology, task.place)}});
    all.push_back(std::move(one));
  }
  return all;
}

}  // namespace gw::cmds
