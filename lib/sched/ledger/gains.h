// Where something became free of late, so that what found no place is asked again only where that could matter.
// Invariant: version() counts up with each gain; a version that is no longer remembered is answered with "anything".
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/ids.h"

namespace gw::sched {

class Gains {
 public:
  /// Something was gained on the node.
  void add(base::NodeId node) {
    constexpr size_t kRemembered = 8192;
    if (nodes_.size() == kRemembered) {
      nodes_.erase(nodes_.begin(), nodes_.begin() + kRemembered / 2);
      begin_ += kRemembered / 2;
    }
    nodes_.push_back(node);
  }
  /// Something changed that is no matter of single nodes.
  void add_anywhere() {
    begin_ += nodes_.size() + 1;
    nodes_.clear();
  }
  /// Counts the changes that could let a job start that could not before.
  uint64_t version() const { return begin_ + nodes_.size(); }
  /// Nodes on which something was gained after `version`, with repetitions. nullopt: too long ago, or not a matter of
  /// single nodes: anything may have changed.
  std::optional<std::span<const base::NodeId>> since(uint64_t version) const {
    if (version < begin_ || version > this->version()) return std::nullopt;
    return std::span<const base::NodeId>(nodes_).subspan(version - begin_);
  }

 private:
  std::vector<base::NodeId> nodes_;  // of the latest versions, one each
  uint64_t begin_ = 1;               // version before nodes_[0]
};

}  // namespace gw::sched
