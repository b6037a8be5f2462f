// Ranks over nodes.
#include "attach/ranks.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string_view>

namespace gw::attach {
namespace {

using Ranks = std::vector<std::vector<uint32_t>>;

Ranks by_planes(const std::vector<uint32_t>& tasks, uint32_t plane) {
  Ranks ranks(tasks.size());
  const uint32_t all = std::accumulate(tasks.begin(), tasks.end(), 0U);
  for (uint32_t next = 0; next < all;)
    for (size_t node = 0; node < tasks.size(); ++node) {
      const size_t room = tasks[node] - ranks[node].size();
      const size_t some = plane == 0 ? room : std::min<size_t>(plane, room);
      for (size_t i = 0; i < some; ++i) ranks[node].push_back(next++);
    }
  return ranks;
}

}  // namespace

Ranks distribute(const std::vector<uint32_t>& tasks, const Distribution& how) {
  const auto all = std::accumulate(tasks.begin(), tasks.end(), uint64_t{0});
  const bool are_nodes =
      std::all_of(how.nodes_of.begin(), how.nodes_of.end(), [&tasks](uint32_t node) { return node < tasks.size(); });
  if (how.nodes_of.size() != all || !are_nodes) return by_planes(tasks, how.plane);
  Ranks ranks(tasks.size());
  for (uint32_t rank = 0; rank < how.nodes_of.size(); ++rank) ranks[how.nodes_of[rank]].push_back(rank);
  const bool is_as_said = std::equal(ranks.begin(), ranks.end(), tasks.begin(),
                                     [](const auto& own, uint32_t count) { return own.size() == count; });
  return is_as_said ? ranks : by_planes(tasks, how.plane);
}

Distribution distribution_of(const wire::Step& step) {
  const wire::StepRequest& request = step.request();
  Distribution out{request.plane() == 0 && request.cyclic() ? kCyclic : request.plane()};
  std::map<std::string_view, uint32_t> index;
  for (const wire::StepNode& node : step.nodes())
    index.emplace(node.share().node(), static_cast<uint32_t>(index.size()));
  for (const std::string& host : request.hosts()) {
    const auto at = index.find(host);
    if (at != index.end()) out.nodes_of.push_back(at->second);
  }
  return out;
}

}  // namespace gw::attach
