// Which jobs are placed on which nodes, and which ids hold something for a job beside its own: the nodes that an
// elastic gang got later, and what a suspended job keeps. Invariants: a job is on a node from when it is placed there
// until the node says that nothing of it is left; such an id belongs to one job for as long as it holds something.
#pragma once

#include <map>
#include <optional>
#include <set>

#include "base/ids.h"
#include "base/time.h"

namespace gw::ctld {

class Placements {
 public:
  /// Those that are on the node.
  const std::set<base::JobId>& on(base::NodeId node) const {
    static const std::set<base::JobId> kNone;
    const auto it = on_.find(node);
    return it == on_.end() ? kNone : it->second;
  }
  bool is_on(base::NodeId node, base::JobId job) const { return on(node).contains(job); }
  /// Nodes that have any.
  const std::map<base::NodeId, std::set<base::JobId>>& by_node() const { return on_; }
  void put(base::NodeId node, base::JobId job) { on_[node].insert(job); }
  /// False: it was not there.
  bool take(base::NodeId node, base::JobId job, base::Time now) {
    const auto it = on_.find(node);
    if (it == on_.end() || it->second.erase(job) == 0) return false;
    if (it->second.empty()) on_.erase(it);
    left_[node] = now;
    return true;
  }
  /// When a job was on it last; zero: none was since the controller began.
  base::Time last_busy(base::NodeId node, base::Time now) const {
    const auto left = left_.find(node);
    return on_.contains(node) ? now : left == left_.end() ? base::Time{} : left->second;
  }

  void set_holding(base::JobId holder, base::JobId job) { job_of_[holder] = job; }
  void drop_holding(base::JobId holder) { job_of_.erase(holder); }
  /// The job that this id holds something for; none: it is no such id.
  std::optional<base::JobId> job_of(base::JobId holder) const {
    const auto it = job_of_.find(holder);
    return it == job_of_.end() ? std::nullopt : std::optional(it->second);
  }

 private:
  std::map<base::NodeId, std::set<base::JobId>> on_;
  std::map<base::NodeId, base::Time> left_;  // when the last one left a node
  std::map<base::JobId, base::JobId> job_of_;
};

}  // namespace gw::ctld
