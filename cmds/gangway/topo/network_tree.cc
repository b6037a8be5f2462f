// Drawing of the network.
#include "cmds/gangway/topo/network_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/hostlist.h"

namespace gw::cmds {
namespace {

using model::Network;
using model::Switch;

struct Row {
  std::string label;
  size_t columns = 0;  ///< Of the label on a terminal.
  uint32_t nodes = 0;
  client::GpuCounts gpus;
};

client::GpuCounts gpus_of(const NetworkView& view, const std::string& node) {
  const auto found = view.nodes.find(node);
  return found == view.nodes.end() ? client::GpuCounts{} : found->second;
}

uint32_t total(const client::GpuCounts& gpus) { return gpus.free + gpus.used + gpus.offline; }

std::vector<std::string> nodes_below(const NetworkView& view, const Switch& s) {
  const std::vector<std::string>& order = view.network.order;
  return {order.begin() + s.first, order.begin() + s.last};
}

Row row_of(const NetworkView& view, const std::string& label, size_t columns, const std::vector<std::string>& nodes) {
  Row row{label, columns, static_cast<uint32_t>(nodes.size()), {}};
  for (const std::string& node : nodes) row.gpus += gpus_of(view, node);
  return row;
}

std::vector<std::string> nodes_outside(const NetworkView& view) {
  const std::set<std::string_view> inside(view.network.order.begin(), view.network.order.end());
  std::vector<std::string> outside;
  for (const auto& [name, gpus] : view.nodes)
    if (!inside.contains(name)) outside.push_back(name);
  base::sort_hostlist(outside);
  return outside;
}

/// Depth first without recursion: a chain of switches may be long.
class Tree {
 public:
  Tree(const NetworkView& view, bool unicode)
      : view_(view), unicode_(unicode), children_(view.network.switches.size()) {
    const std::vector<Switch>& all = view.network.switches;
    for (uint32_t i = 0; i < all.size(); ++i)
      (all[i].parent == UINT32_MAX ? roots_ : children_[all[i].parent]).push_back(i);
  }

  std::vector<Row> rows() {
    for (uint32_t root : roots_) walk(root);
    return std::move(rows_);
  }

 private:
  struct Place {
    uint32_t at;
    std::string before;  ///< What stands left of its children's branches.
    std::string branch;  ///< What stands left of itself.
  };

  void walk(uint32_t root) {
    std::vector<Place> todo = {{root, "", ""}};
    while (!todo.empty()) {
      const Place place = std::move(todo.back());
      todo.pop_back();
      add(place);
      const std::vector<uint32_t>& below = children_[place.at];
      for (size_t i = below.size(); i-- > 0;) {
        const bool is_last = i + 1 == below.size();
        todo.push_back({below[i],
                        place.before + (is_last    ? "   "
                                        : unicode_ ? "│  "
                                                   : "|  "),
                        place.before + (unicode_ ? (is_last ? "└─ " : "├─ ") : (is_last ? "`- " : "|- "))});
      }
    }
  }

  void add(const Place& place) {
    const Switch& s = view_.network.switches[place.at];
    const std::vector<std::string> nodes = nodes_below(view_, s);
    std::string label = s.name;
    if (s.level == 0) label += "  " + base::compress_hostlist(nodes);
    size_t depth = 0;  // each level takes three columns, whatever the bytes of its branch
    for (uint32_t up = s.parent; up != UINT32_MAX; up = view_.network.switches[up].parent) ++depth;
    rows_.push_back(row_of(view_, place.branch + label, 3 * depth + label.size(), nodes));
  }

  const NetworkView& view_;
  bool unicode_;
  std::vector<uint32_t> roots_;
  std::vector<std::vector<uint32_t>> children_;
  std::vector<Row> rows_;
};

}  // namespace

base::Result<Network> network_of(const std::vector<std::pair<std::string, std::string>>& entries) {
  constexpr std::string_view kPrefix = "network.";
  std::vector<model::SwitchConfig> lines;
  for (const auto& [key, value] : entries) {
    const size_t dot = key.rfind('.');
    if (!key.starts_with(kPrefix) || dot <= kPrefix.size()) continue;
    const std::string name = key.substr(kPrefix.size(), dot - kPrefix.size());
    const std::string what = key.substr(dot + 1);
    if (what != "nodes" && what != "switches") continue;
    if (lines.empty() || lines.back().name != name) lines.push_back({name, {}, {}});
    if (value.empty()) continue;
    GW_TRY(names, base::expand_hostlist(value));
    (what == "nodes" ? lines.back().nodes : lines.back().switches) = std::move(names);
  }
  return model::build_network(lines, {});
}

std::string draw_network(const NetworkView& view, bool unicode) {
  std::vector<Row> rows = Tree(view, unicode).rows();
  if (const std::vector<std::string> outside = nodes_outside(view); !outside.empty()) {
    const std::string label = (rows.empty() ? "no switches  " : "at no switch  ") + base::compress_hostlist(outside);
    rows.push_back(row_of(view, label, label.size(), outside));
  }
  size_t width = 0;
  for (const Row& row : rows) width = std::max(width, row.columns);
  std::string out;
  for (const Row& row : rows)
    out += fmt::format("{}{:{}}  {:>6} {}  {:>7} GPUs  {:>7} free\n", row.label, "", width - row.columns, row.nodes,
                       row.nodes == 1 ? "node " : "nodes", total(row.gpus), row.gpus.free);
  return out;
}

std::string network_json(const NetworkView& view) {
  using Json = nlohmann::ordered_json;
  Json switches = Json::array();
  for (const Switch& s : view.network.switches) {
    const std::vector<std::string> nodes = nodes_below(view, s);
    const Row row = row_of(view, s.name, 0, nodes);
    switches.push_back({{"name", s.name},
                        {"level", s.level},
                        {"parent", s.parent == UINT32_MAX ? Json(nullptr) : Json(view.network.switches[s.parent].name)},
                        {"nodes", nodes},
                        {"gpus_total", total(row.gpus)},
                        {"gpus_free", row.gpus.free}});
  }
  const Json all = {{"schema_version", 1}, {"switches", switches}, {"nodes_at_no_switch", nodes_outside(view)}};
  return all.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace gw::cmds
