// Elastic gangs: requests that hold for several sizes. See request.h.
// Invariant: least_of() of a request that passed normalise() passes it too, and is not elastic.
#include <algorithm>

#include "model/request.h"

namespace gw::model {
namespace {

bool is_by_nodes(const Request& r) { return r.nodes_given && !r.tasks_given; }

uint32_t tasks_of_node(const Request& r) { return std::max(r.tasks_per_node, 1U); }

}  // namespace

uint32_t most_tasks(const Request& r) { return r.elastic && is_by_nodes(r) ? r.max_nodes * tasks_of_node(r) : r.tasks; }

Request least_of(const Request& r) {
  if (!r.elastic) return r;
  Request out = r;
  out.elastic = false;
  out.min_tasks = 0;
  if (is_by_nodes(r)) {
    out.max_nodes = r.min_nodes;
    out.tasks = r.min_nodes * tasks_of_node(r);
    return out;
  }
  out.tasks = r.min_tasks;
  const uint32_t fewest = r.tasks_per_node == 0 ? 1 : (out.tasks + r.tasks_per_node - 1) / r.tasks_per_node;
  out.min_nodes = std::max<uint32_t>(r.nodes_given ? std::min(r.min_nodes, out.tasks) : fewest, fewest);
  out.max_nodes =
      r.nodes_given ? std::max(std::min(r.max_nodes, out.tasks), out.min_nodes) : std::max(out.tasks, out.min_nodes);
  return out;
}

Request growth_of(const Request& r, uint32_t tasks) {
  Request out = r;
  out.elastic = false;
  out.min_tasks = 0;
  out.nodelist.clear();
  out.max_switches = 0;
  out.segment = 0;
  out.min_nodes = out.max_nodes = 1;
  out.nodes_given = out.tasks_given = true;
  out.tasks = is_by_nodes(r) ? tasks_of_node(r) : tasks;
  out.tasks_per_node = 0;
  return out;
}

}  // namespace gw::model
