// What the nodes of a job or step are told of each other: the implementation.
#include "wire/gang.h"

#include "base/hostlist.h"

namespace gw::wire {

Gang gang_of(const std::vector<const model::NodeShare*>& shares) {
  std::vector<std::string> names;
  std::vector<uint32_t> tasks, cpus;
  Gang gang;
  uint32_t all_tasks = 0;
  for (const model::NodeShare* share : shares) {
    names.push_back(share->name);
    tasks.push_back(share->tasks);
    cpus.push_back(share->cpus);
    all_tasks += share->tasks;
  }
  gang.set_nodes(base::compress_hostlist(names));
  gang.set_node_count(static_cast<uint32_t>(names.size()));
  gang.set_tasks(base::compress_counts(tasks));
  gang.set_cpus(base::compress_counts(cpus));
  gang.set_all_tasks(all_tasks);
  return gang;
}

Gang gang_of(const model::Allocation& allocation) {
  std::vector<const model::NodeShare*> shares;
  for (const model::NodeShare& share : allocation.shares) shares.push_back(&share);
  return gang_of(shares);
}

}  // namespace gw::wire
