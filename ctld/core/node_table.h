// The nodes that the controller knows: those of the configuration, and those that left it while jobs held them; with
// the links by which they are connected.
// Invariants: ids ascend and are never used again; a node has one link at most, and a link one node; a node's row is
// written when it differs from what is stored, in the transaction that changed it (most nodes come back as they were).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "ctld/core/effects.h"
#include "model/cluster.h"
#include "store/rows.h"
#include "wire/topologies.h"

namespace gw::ctld {

class NodeTable {
 public:
  const std::map<base::NodeId, model::Node>& all() const { return nodes_; }
  const model::Node& at(base::NodeId id) const { return nodes_.at(id); }
  model::Node& at(base::NodeId id) { return nodes_.at(id); }
  const model::Node* find(const std::string& name) const;
  model::Node* find(const std::string& name);
  model::Node* find(base::NodeId id);
  /// No id: there is no such node.
  base::NodeId id_of(std::string_view name) const;
  bool contains(const std::string& name) const { return ids_.contains(name); }
  /// Empty: there is no such node.
  std::string name_of(base::NodeId id) const;
  std::vector<std::string> names() const;

  model::Node& add(const std::string& name);
  void erase(base::NodeId id);

  /// The node of a link; none: it has not registered.
  std::optional<base::NodeId> node_of(LinkId link) const;
  std::optional<LinkId> link_of(base::NodeId node) const;
  bool has_link(base::NodeId node) const { return link_of_.contains(node); }
  size_t connected() const { return link_of_.size(); }
  void connect(base::NodeId node, LinkId link);
  void disconnect(LinkId link);

  /// Those of the nodes, and the bytes that said so.
  wire::Topologies& topologies() { return topologies_; }

  /// What is stored of it may be another now.
  void changed(const model::Node& node) { changed_.insert(node.id); }
  /// It is as the store has it.
  void is_stored(const model::Node& node);
  store::Batch take_rows();

  /// A node as it is stored, without when it was heard of and whence: that is no part of the state.
  static std::string state_of(const model::Node& node);

 private:
  std::map<base::NodeId, model::Node> nodes_;
  std::unordered_map<std::string, base::NodeId> ids_;
  uint32_t last_ = 0;
  std::map<LinkId, base::NodeId> node_of_;
  std::map<base::NodeId, LinkId> link_of_;
  std::set<base::NodeId> changed_;
  wire::Topologies topologies_;
  /// What is stored of a node. A topology is the most of it, and seldom another.
  struct Stored {
    size_t rest = 0;  // hash of its state without the topology
    wire::Topologies::Ptr topology;
    bool operator==(const Stored& other) const;
  };
  std::unordered_map<base::NodeId, Stored> stored_;

  static Stored stored_of(const model::Node& node);
};

}  // namespace gw::ctld
