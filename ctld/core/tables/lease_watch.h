// Since when nodes are out of reach, by the clock that leases count by.
// Invariant: a node that nobody has said to be lost counts as lost when the watch began.
#pragma once

#include <map>

#include "base/boot_time.h"
#include "base/ids.h"
#include "model/contract.h"

namespace gw::ctld {

class LeaseWatch {
 public:
  /// What the clock shows; to be told before anything that asks.
  void turn(base::BootTime now) { now_ = now; }
  /// From here on nodes are out of reach of which nothing else is known.
  void begin() { begin_ = now_; }
  void lost(base::NodeId node) { lost_[node] = now_; }
  void back(base::NodeId node) { lost_.erase(node); }
  /// How long a run under `contract` may still live on a node that is out of reach; zero or less: its lease is over.
  /// Only for contracts with a lease.
  base::Duration left(base::NodeId node, const model::Contract& contract) const {
    const auto it = lost_.find(node);
    return (it == lost_.end() ? begin_ : it->second) + contract.over_after() - now_;
  }

 private:
  base::BootTime now_, begin_;
  std::map<base::NodeId, base::BootTime> lost_;
};

}  // namespace gw::ctld
