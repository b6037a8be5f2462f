// Collective operations of a step's nodes: what each has goes up a tree, and all of it down again. Pure: messages go
// out by a function, and come in by a call. Invariants: several operations may be under way, of the same nodes and of
// others; each ends once on each node that called it, also when a node is lost; what nodes send that are ahead of this
// one is kept, within a bound.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "wire/pmix.pb.h"

namespace gw::noded::pmix {

/// A status of libpmix (0: success) and what was asked for.
using DataFn = std::function<void(int status, std::string data)>;

class Fences {
 public:
  struct Options {
    uint32_t self = 0;
    int lost_status = -1;           ///< Of an operation that misses a node.
    uint32_t width = 16;            ///< Of the tree.
    size_t max_bytes = 256U << 20;  ///< Of all that is kept.
  };
  using SendFn = std::function<void(uint32_t node, const wire::PmixFence& message)>;

  Fences(Options options, SendFn send) : options_(options), send_(std::move(send)) {}

  /// This node's part is there. `group` names who takes part, the same on all `nodes` (ascending, this one among
  /// them); the next round of a group is the one after its last.
  void join(const std::string& group, std::vector<uint32_t> nodes, std::string data, DataFn done);
  /// Errors: kProtocol, of a node that breaks the rules.
  base::Status on_message(uint32_t from, wire::PmixFence message);
  void on_lost(uint32_t node);
  /// Nodes without which what this one has joined does not continue.
  std::set<uint32_t> awaited() const;
  size_t under_way() const { return fences_.size(); }

 private:
  using Key = std::pair<std::string, uint64_t>;
  struct Fence {
    bool is_joined = false;
    bool has_sent = false;  // up
    std::vector<uint32_t> children;
    std::optional<uint32_t> parent;
    std::map<uint32_t, wire::PmixFence> up;  // what came from below
    std::optional<wire::PmixFence> down;
    std::string data;
    DataFn done;
  };
  Options options_;
  SendFn send_;
  std::map<Key, Fence> fences_;
  std::map<std::string, uint64_t> rounds_;
  std::set<uint32_t> lost_;
  size_t bytes_ = 0;  // of what others sent

  void place(Fence& fence, const std::vector<uint32_t>& nodes) const;
  void advance(const Key& key, Fence& fence);
  void finish(const Key& key, int status, std::string data);
};

}  // namespace gw::noded::pmix
