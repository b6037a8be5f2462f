// Who is where.
#include "noded/pmix/job.h"

#include "attach/ranks.h"

namespace gw::noded::pmix {

base::Result<Job> make_job(const wire::PmixSetup& setup) {
  const int nodes = setup.nodes_size();
  if (nodes == 0 || setup.tasks_size() != nodes || setup.self() >= static_cast<uint32_t>(nodes))
    return base::invalid("a step of " + std::to_string(nodes) + " nodes has the tasks of " +
                         std::to_string(setup.tasks_size()) + ", and node " + std::to_string(setup.self()));
  uint64_t all = 0;
  for (const uint32_t tasks : setup.tasks()) {
    if (tasks == 0) return base::invalid("a node of the step has no tasks");
    all += tasks;
  }
  if (all > kMaxTasks) return base::invalid("a step of " + std::to_string(all) + " tasks is too large for PMIx");
  if (!setup.nodes_of().empty() && static_cast<uint64_t>(setup.nodes_of_size()) != all)
    return base::invalid("of " + std::to_string(all) + " tasks " + std::to_string(setup.nodes_of_size()) +
                         " have a node");
  Job job;
  job.name = setup.name();
  job.nodes.assign(setup.nodes().begin(), setup.nodes().end());
  job.self = setup.self();
  const uint32_t plane = setup.plane() == 0 && setup.is_cyclic() ? attach::kCyclic : setup.plane();
  job.ranks = attach::distribute({setup.tasks().begin(), setup.tasks().end()},
                                 {plane, {setup.nodes_of().begin(), setup.nodes_of().end()}});
  job.node_of.resize(all);
  for (size_t node = 0; node < job.ranks.size(); ++node)
    for (const uint32_t rank : job.ranks[node]) job.node_of[rank] = static_cast<uint32_t>(node);
  return job;
}

std::string comma_list(const std::vector<uint32_t>& numbers) {
  std::string text;
  for (const uint32_t n : numbers) text += (text.empty() ? "" : ",") + std::to_string(n);
  return text;
}

}  // namespace gw::noded::pmix
