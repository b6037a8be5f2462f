// See node_table.h.
#include "ctld/core/node_table.h"

#include <functional>
#include <utility>

#include "wire/convert.h"

namespace gw::ctld {

using base::NodeId;
using model::Node;

namespace {

Node state_alone(const Node& node) {
  Node stored = node;
  stored.last_seen = {};
  stored.since = {};
  stored.connected = false;
  stored.peer_address.clear();
  return stored;
}

}  // namespace

std::string NodeTable::state_of(const Node& node) { return wire::to_wire(state_alone(node)).SerializeAsString(); }

NodeTable::Stored NodeTable::stored_of(const Node& node) {
  Node rest = state_alone(node);
  rest.topology.reset();
  return {std::hash<std::string>{}(wire::to_wire(rest).SerializeAsString()), node.topology};
}

bool NodeTable::Stored::operator==(const Stored& other) const {
  if (rest != other.rest) return false;
  return topology == other.topology || (topology && other.topology && *topology == *other.topology);
}

const Node* NodeTable::find(const std::string& name) const {
  const auto it = ids_.find(name);
  return it == ids_.end() ? nullptr : &nodes_.at(it->second);
}

Node* NodeTable::find(const std::string& name) {
  const auto it = ids_.find(name);
  return it == ids_.end() ? nullptr : &nodes_.at(it->second);
}

Node* NodeTable::find(NodeId id) {
  const auto it = nodes_.find(id);
  return it == nodes_.end() ? nullptr : &it->second;
}

NodeId NodeTable::id_of(std::string_view name) const {
  const auto it = ids_.find(std::string(name));
  return it == ids_.end() ? NodeId() : it->second;
}

std::string NodeTable::name_of(NodeId id) const {
  const auto it = nodes_.find(id);
  return it == nodes_.end() ? std::string() : it->second.config.name;
}

std::vector<std::string> NodeTable::names() const {
  std::vector<std::string> out;
  for (const auto& [id, node] : nodes_) out.push_back(node.config.name);
  return out;
}

Node& NodeTable::add(const std::string& name) {
  const NodeId id(++last_);
  ids_[name] = id;
  Node& node = nodes_[id];
  node.id = id;
  node.config.name = name;
  return node;
}

void NodeTable::erase(NodeId id) {
  if (const auto link = link_of(id)) disconnect(*link);
  ids_.erase(name_of(id));
  stored_.erase(id);
  changed_.erase(id);
  nodes_.erase(id);
}

std::optional<NodeId> NodeTable::node_of(LinkId link) const {
  const auto it = node_of_.find(link);
  return it == node_of_.end() ? std::nullopt : std::optional(it->second);
}

std::optional<LinkId> NodeTable::link_of(NodeId node) const {
  const auto it = link_of_.find(node);
  return it == link_of_.end() ? std::nullopt : std::optional(it->second);
}

void NodeTable::connect(NodeId node, LinkId link) {
  node_of_[link] = node;
  link_of_[node] = link;
}

void NodeTable::disconnect(LinkId link) {
  const auto it = node_of_.find(link);
  if (it == node_of_.end()) return;
  link_of_.erase(it->second);
  node_of_.erase(it);
}

void NodeTable::is_stored(const Node& node) { stored_[node.id] = stored_of(node); }

store::Batch NodeTable::take_rows() {
  store::Batch rows;
  for (const NodeId id : std::exchange(changed_, {})) {
    const Node& node = nodes_.at(id);
    Stored state = stored_of(node);
    const auto [stored, is_new] = stored_.try_emplace(id, state);
    if (!is_new && std::exchange(stored->second, state) == state) continue;
    rows.push_back(store::PutNode{node.config.name, wire::to_wire(node).SerializeAsString()});
  }
  return rows;
}

}  // namespace gw::ctld
