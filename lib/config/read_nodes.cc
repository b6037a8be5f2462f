// nodes: and qos:. See read.h.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "base/hostlist.h"
#include "base/text.h"
#include "config/read.h"

namespace gw::config {
namespace {

constexpr size_t kMaxQosLevels = 32;

// `- n[0-3]` is short for `- name: n[0-3]`.
NodeEntry read_entry(const Value& item, Problems& problems) {
  NodeEntry entry;
  if (item.kind == Value::Kind::kScalar)
    read_value(node_keys()[0].info, &entry.names, item, problems);
  else if (item.kind == Value::Kind::kMap)
    read_map(node_keys(), "", item, entry, problems);
  else
    problems.error(item, "an entry of nodes is a host list or a map", "write `- name: n[1-4]`");
  return entry;
}

bool has_name(const Value& item) {
  const Value* name = item.find("name");
  return item.kind != Value::Kind::kMap || name != nullptr || item.find("names") != nullptr;
}

bool is_sound(const NodeEntry& entry, const Value& item, Problems& problems) {
  if (entry.names.empty()) {
    if (!has_name(item)) problems.error(item, "this entry of nodes has no name", "write `name: n[1-4]`");
    return false;
  }
  size_t addresses = entry.addresses.size();
  if (addresses <= 1 || addresses == entry.names.size()) return true;
  problems.error(place_of(item, "address"), fmt::format("{} addresses for {} nodes", addresses, entry.names.size()),
                 "give one, or as many as there are nodes");
  return false;
}

class NodeTable {
 public:
  NodeTable(Config& c, Problems& problems) : config_(c), problems_(problems) {}

  /// Returns false when the file has more nodes than a cluster may.
  bool add(const NodeEntry& said, const Value& item) {
    NodeEntry entry = said;
    if (auto gres = model::parse_gres(base::join(entry.gres, ","))) {
      entry.common.gres = std::move(*gres);
    } else {
      problems_.error(place_of(item, "gres"), "gres" + gres.error().what.substr(6), gres.error().hint);
    }
    for (size_t i = 0; i < entry.names.size(); ++i) {
      if (++count_ > base::kMaxHosts) {
        problems_.error(item, fmt::format("more than {} nodes", base::kMaxHosts));
        return false;
      }
      add_one(entry, i, item);
    }
    return true;
  }

 private:
  void add_one(const NodeEntry& entry, size_t i, const Value& item) {
    const std::string& name = entry.names[i];
    auto [first, is_new] = lines_.emplace(name, item.line);
    if (!is_new)
      return problems_.error(item, fmt::format("node {} is defined twice, first in line {}", name, first->second),
                             "leave one");
    if (base::iequals(name, "all"))
      return problems_.error(item, "a node cannot be called ALL", "that word stands for all nodes");
    model::NodeConfig node = entry.common;
    node.name = name;
    if (!entry.addresses.empty()) node.address = entry.addresses[entry.addresses.size() == 1 ? 0 : i];
    config_.nodes.push_back(std::move(node));
  }

  Config& config_;
  Problems& problems_;
  std::unordered_map<std::string, uint32_t> lines_;
  size_t count_ = 0;
};

void check_parents(std::span<const Value> items, const Config& c, std::span<const std::string> names,
                   Problems& problems) {
  std::unordered_map<std::string_view, std::string_view> parents;
  for (const model::Qos& q : c.qos) parents.emplace(q.name, q.parent);
  for (const Value& item : items) {
    const Value* name = item.find("name");
    const Value* parent = item.find("parent");
    if (name == nullptr || parent == nullptr || parent->text.empty()) continue;
    if (!parents.contains(parent->text)) {
      problems.error(*parent, fmt::format("no QOS \"{}\"", base::printable(parent->text)),
                     problems.wants_hints() ? base::did_you_mean(parent->text, names) : "");
      continue;
    }
    std::string_view at = parent->text;
    size_t levels = 1;
    for (; !at.empty() && at != name->text && levels <= kMaxQosLevels; ++levels)
      at = parents.contains(at) ? parents[at] : std::string_view();
    if (levels > kMaxQosLevels)
      problems.error(*parent, fmt::format("QOS {} is more than {} levels below the root", name->text, kMaxQosLevels));
    else if (!at.empty())
      problems.error(*parent, fmt::format("QOS {} is below itself", name->text), "break the circle");
  }
}

// A default_qos that was written must be one of the list, but for the built-in one, which is there whether it is
// written or not; one that was not written is added to the list.
void add_default_qos(const Value& root, Config& c, std::span<const std::string> names, Problems& problems) {
  if (std::find(names.begin(), names.end(), c.default_qos) != names.end()) return;
  const Value* jobs = root.find("jobs");
  const Value* written = jobs == nullptr ? nullptr : jobs->find("default_qos");
  if (written != nullptr && !names.empty() && c.default_qos != Config().default_qos)
    return problems.error(*written, fmt::format("no QOS \"{}\"", c.default_qos),
                          base::did_you_mean(c.default_qos, names));
  model::Qos qos;
  qos.name = c.default_qos;
  c.default_qos_implied = true;
  c.qos.push_back(qos);
}

void take_order(const QosEntry& entry, const Value& item, Config& c, Problems& problems) {
  if (entry.order.empty() && !entry.order_weights.empty())
    problems.error(place_of(item, "order_weights"), "weights of no order", "write `order: NAME`, too");
  if (entry.order.empty()) return;
  check_order({place_of(item, "order"), entry.order, place_of(item, "order_weights"), entry.order_weights},
              !c.plugin_dirs.empty(), problems);
  c.qos_orders[entry.q.name] = {entry.order, entry.order_weights};
}

}  // namespace

void read_nodes(const Value& root, Config& c, Problems& problems) {
  NodeTable table(c, problems);
  bool were_errors = problems.has_errors();
  for (const Value& item : list_items(root, "nodes", problems)) {
    NodeEntry entry = read_entry(item, problems);
    if (is_sound(entry, item, problems) && !table.add(entry, item)) return;
  }
  if (c.nodes.empty() && were_errors == problems.has_errors())
    problems.warn(place_of(root, "nodes"), "the cluster has no nodes", "add them under nodes:");
}

void read_qos(const Value& root, Config& c, Problems& problems) {
  std::unordered_map<std::string, uint32_t> lines;
  std::span<const Value> items = list_items(root, "qos", problems);
  for (const Value& item : items) {
    QosEntry entry;
    const model::Qos& qos = entry.q;
    if (item.kind == Value::Kind::kMap)
      read_map(qos_entry_keys(), "", item, entry, problems);
    else
      problems.error(item, "an entry of qos is a map", "write `- name: NAME`");
    if (qos.name.empty()) {
      if (item.kind == Value::Kind::kMap && item.find("name") == nullptr)
        problems.error(item, "this entry of qos has no name", "write `name: NAME`");
      continue;
    }
    auto [first, is_new] = lines.emplace(qos.name, item.line);
    if (is_new) {
      c.qos.push_back(qos);
      take_order(entry, item, c, problems);
    } else {
      problems.error(item, fmt::format("QOS {} is defined twice, first in line {}", qos.name, first->second),
                     "leave one");
    }
  }
  std::vector<std::string> names;
  for (const model::Qos& q : c.qos) names.push_back(q.name);
  check_parents(items, c, names, problems);
  if (problems.has_errors()) return add_default_qos(root, c, names, problems);
  if (const auto fault = model::check_guarantees(c.qos, {})) problems.error(place_of(root, "qos"), fault->error);
  for (const model::QosFault& doubt : model::doubtful_guarantees(c.qos))
    problems.warn(place_of(root, "qos"), doubt.error.what, doubt.error.hint);
  add_default_qos(root, c, names, problems);
}

}  // namespace gw::config
