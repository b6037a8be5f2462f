// The topologies that nodes have, each read once: the same bytes again are the same object, and nobody reads them. Most
// nodes come back as they were, and ten thousand may do so at once.
// Invariants: it keeps no topology alive; what it keeps of those that are gone is at most as much as of those that are
// there, and a megabyte, so that nobody fills the memory who may not register. One topology has one spelling or
// several.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/result.h"
#include "model/cluster.h"
#include "model/topology.h"

namespace gw::wire {

class Topologies {
 public:
  using Ptr = std::shared_ptr<const model::NodeTopology>;
  /// What the bytes of a NodeTopology say; null if they were not met, or nobody has it any more.
  Ptr find(std::string_view bytes) const;
  /// The bytes say this.
  void add(std::string_view bytes, const Ptr& topology);
  size_t size() const { return known_.size(); }

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view bytes) const { return std::hash<std::string_view>{}(bytes); }
  };
  std::unordered_map<std::string, std::weak_ptr<const model::NodeTopology>, Hash, std::equal_to<>> known_;
  size_t bytes_ = 0;     // of all keys
  size_t sweep_at_ = 0;  // bytes

  void sweep();
};

/// A message without one of its fields.
struct Cut {
  std::string_view field;  ///< The bytes of its value, in the message.
  std::string rest;        ///< The message without it.
};
/// Nothing if the field is not there, not once, no text or message, or if the bytes are no message.
std::optional<Cut> cut_field(std::string_view message, uint32_t number);

/// What a node's row says of its hardware, and the bytes that say so, in the row.
struct RowTopology {
  std::string_view bytes;
  Topologies::Ptr topology;  ///< Null: it says nothing, or nothing that can be read.
};
RowTopology topology_of_row(std::string_view row);

/// A node as its row says. Errors: it is no row of this node; as stored_from_wire.
base::Status stored_from_row(std::string_view name, std::string_view row, Topologies& known, model::Node& node);

}  // namespace gw::wire
