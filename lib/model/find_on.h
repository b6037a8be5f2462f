// Finding the part that one node has in a list with a part for each node: shares of an allocation, nodes of a step.
// Such lists are in the order of node ids behind the first, where a script runs, so a part is found in O(log n). Where
// nodes were configured in another order since the gang was placed, ids are others and the list is looked through.
#pragma once

#include <algorithm>

#include "base/ids.h"

namespace gw::model {

/// The element of `all` for which node_of(element) is `node`; its end if there is none.
template <typename List, typename NodeOf>
auto find_on(List& all, base::NodeId node, NodeOf node_of) {
  if (all.empty() || node_of(all.front()) == node) return all.begin();
  const auto is_before = [&](const auto& part, base::NodeId id) { return node_of(part) < id; };
  const auto by_id = std::lower_bound(all.begin() + 1, all.end(), node, is_before);
  if (by_id != all.end() && node_of(*by_id) == node) return by_id;
  return std::find_if(all.begin(), all.end(), [&](const auto& part) { return node_of(part) == node; });
}

}  // namespace gw::model
