// From the configured lines to the forest of switches.
// Invariant: a check may rely on all checks before it in build(); in particular nothing walks the tree before loops are
// ruled out. Nothing recurses: a chain of switches may be as long as the configuration allows.
#include "model/network.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>
#include <unordered_set>

#include "base/text.h"

namespace gw::model {
namespace {

using Index = uint32_t;
constexpr Index kNone = UINT32_MAX;
constexpr size_t kMaxFaults = 100, kMaxHints = 5;

std::string shown(const std::string& name) { return base::printable(name, 80); }

class Builder {
 public:
  Builder(const std::vector<SwitchConfig>& lines, const std::vector<std::string>& known_nodes)
      : lines_(lines), known_nodes_(known_nodes), parent_(lines.size(), kNone), children_(lines.size()) {}

  tl::expected<Network, std::vector<NetworkFault>> build() {
    using Check = void (Builder::*)();
    constexpr Check kChecks[] = {&Builder::check_names,   &Builder::check_contents, &Builder::link_switches,
                                 &Builder::check_parents, &Builder::check_leaves,   &Builder::check_loops,
                                 &Builder::walk,          &Builder::check_roots};
    for (Check check : kChecks) {
      (this->*check)();
      if (!faults_.empty()) return tl::unexpected(std::move(faults_));
    }
    return finished();
  }

 private:
  void check_names() {
    for (Index i = 0; i < lines_.size(); ++i)
      if (!by_name_.emplace(lines_[i].name, i).second)
        tell(i, "switch", "switch " + name_of(i) + " is described twice", "give each switch one entry");
  }

  void check_contents() {
    for (Index i = 0; i < lines_.size(); ++i) {
      const SwitchConfig& line = lines_[i];
      if (line.nodes.empty() && line.switches.empty())
        tell(i, "switch", "switch " + name_of(i) + " is empty", "give it nodes or switches");
      if (!line.nodes.empty() && !line.switches.empty())
        tell(i, "nodes", "switch " + name_of(i) + " has both nodes and switches",
             "put the nodes under a leaf switch of their own");
    }
  }

  void link_switches() {
    const std::unordered_set<std::string_view> known(known_nodes_.begin(), known_nodes_.end());
    for (Index i = 0; i < lines_.size(); ++i) {
      for (const std::string& below : lines_[i].switches) {
        auto at = by_name_.find(below);
        if (at == by_name_.end())
          tell_unknown(i, "switches", below, switch_names());
        else
          children_[i].push_back(at->second);
      }
      if (known.empty()) continue;
      for (const std::string& node : lines_[i].nodes)
        if (!known.contains(node)) tell_unknown(i, "nodes", node, known_nodes_);
    }
  }

  void check_parents() {
    for (Index i = 0; i < lines_.size(); ++i)
      for (Index child : children_[i]) {
        if (parent_[child] != kNone) tell_twice(i, "switches", lines_[child].name, parent_[child]);
        parent_[child] = i;
      }
  }

  void check_leaves() {
    std::unordered_map<std::string_view, Index> leaf_of;
    for (Index i = 0; i < lines_.size(); ++i)
      for (const std::string& node : lines_[i].nodes)
        if (auto [at, is_new] = leaf_of.emplace(node, i); !is_new) tell_twice(i, "nodes", node, at->second);
  }

  /// With one parent each, a loop is a walk upwards that comes back.
  void check_loops() {
    std::vector<Index> walk_of(lines_.size(), kNone);
    for (Index start = 0; start < lines_.size(); ++start) {
      Index at = start;
      while (at != kNone && walk_of[at] == kNone) {
        walk_of[at] = start;
        at = parent_[at];
      }
      if (at != kNone && walk_of[at] == start) tell_loop(at);
    }
  }

  /// Depth first from each root: gives `order_`, the ranges and the levels.
  void walk() {
    made_.resize(lines_.size());
    for (Index root = 0; root < lines_.size(); ++root) {
      if (parent_[root] != kNone) continue;
      std::vector<std::pair<Index, size_t>> path;  // a switch, and how many of its children are done
      enter(root, path);
      while (!path.empty()) {
        auto& [at, done] = path.back();
        if (done < children_[at].size()) {
          enter(children_[at][done++], path);
        } else {
          leave(at);
          path.pop_back();
        }
      }
    }
  }

  void enter(Index at, std::vector<std::pair<Index, size_t>>& path) {
    made_[at].name = lines_[at].name;
    made_[at].first = static_cast<uint32_t>(order_.size());
    order_.insert(order_.end(), lines_[at].nodes.begin(), lines_[at].nodes.end());
    path.emplace_back(at, 0);
  }

  void leave(Index at) {
    made_[at].last = static_cast<uint32_t>(order_.size());
    if (children_[at].empty()) return;
    const Index first = children_[at].front();
    for (Index child : children_[at]) {
      if (made_[child].level == made_[first].level) continue;
      tell(at, "switches",
           "leaves at unequal depth: under switch " + name_of(at) + ", " + height(first) + " but " + height(child),
           "every leaf has the same number of switches above it; add those that are missing");
      break;
    }
    made_[at].level = made_[first].level + 1;
  }

  /// Trees of one height stand side by side (islands); a lower one is a part that somebody forgot to connect.
  void check_roots() {
    Index top = kNone;
    for (Index i = 0; i < lines_.size(); ++i)
      if (parent_[i] == kNone && (top == kNone || made_[i].level > made_[top].level)) top = i;
    for (Index i = 0; i < lines_.size(); ++i)
      if (parent_[i] == kNone && made_[i].level < made_[top].level)
        tell(i, "switch", "switch " + name_of(i) + " is out of reach: no switch has it below it, while " + height(top),
             "name it in the `switches` of the switch above it");
  }

  Network finished() {
    std::vector<Index> sorted(lines_.size());
    std::iota(sorted.begin(), sorted.end(), 0);
    std::sort(sorted.begin(), sorted.end(), [this](Index a, Index b) {
      return std::pair(made_[a].level, made_[a].first) < std::pair(made_[b].level, made_[b].first);
    });
    std::vector<Index> place(lines_.size());
    for (Index i = 0; i < sorted.size(); ++i) place[sorted[i]] = i;
    Network network;
    network.order = std::move(order_);
    for (Index i : sorted) {
      network.switches.push_back(std::move(made_[i]));
      if (parent_[i] != kNone) network.switches.back().parent = place[parent_[i]];
    }
    return network;
  }

  // ---- words

  std::string name_of(Index i) const { return shown(lines_[i].name); }

  std::string height(Index at) const {
    const uint32_t level = made_[at].level;
    if (level == 0) return name_of(at) + " is a leaf";
    return name_of(at) + " has " + std::to_string(level) + (level == 1 ? " level" : " levels") + " below it";
  }

  const std::vector<std::string>& switch_names() {
    if (switch_names_.empty())
      for (const SwitchConfig& line : lines_) switch_names_.push_back(line.name);
    return switch_names_;
  }

  void tell(Index at, std::string_view key, std::string what, std::string hint) {
    if (faults_.size() < kMaxFaults)
      faults_.push_back({at, key, {base::ErrorCode::kInvalid, std::move(what), std::move(hint)}});
  }

  void tell_unknown(Index at, std::string_view key, const std::string& name,
                    const std::vector<std::string>& candidates) {
    const bool wants_hint = faults_.size() < kMaxHints;  // searches for what may be meant cost time
    tell(at, key,
         "switch " + name_of(at) + " names the unknown " + (key == "nodes" ? "node " : "switch ") + shown(name),
         wants_hint ? base::did_you_mean(name, candidates) : "");
  }

  void tell_twice(Index at, std::string_view key, const std::string& name, Index before) {
    const std::string what = (key == "nodes" ? "node " : "switch ") + shown(name) + " is ";
    if (at == before)
      tell(at, key, what + "named twice under switch " + name_of(at), "leave one");
    else
      tell(at, key, what + "under two switches: " + name_of(before) + " and " + name_of(at),
           "leave it under one of them");
  }

  void tell_loop(Index start) {
    constexpr size_t kShown = 20;
    std::vector<std::string> along;
    Index at = start;
    do {
      along.push_back(name_of(at));
      at = parent_[at];
    } while (at != start && along.size() < kShown);
    along.push_back(at == start ? along.front() : "...");
    tell(start, "switch", "the switches form a loop: " + base::join(along, " under "), "a network is a tree");
  }

  const std::vector<SwitchConfig>& lines_;
  const std::vector<std::string>& known_nodes_;
  std::unordered_map<std::string_view, Index> by_name_;
  std::vector<Index> parent_;
  std::vector<std::vector<Index>> children_;
  std::vector<Switch> made_;  // in the order of lines_, parents not yet set
  std::vector<std::string> order_;
  std::vector<NetworkFault> faults_;
  std::vector<std::string> switch_names_;  // for what may be meant
};

}  // namespace

tl::expected<Network, std::vector<NetworkFault>> try_network(const std::vector<SwitchConfig>& switches,
                                                             const std::vector<std::string>& known_nodes) {
  return Builder(switches, known_nodes).build();
}

base::Result<Network> build_network(const std::vector<SwitchConfig>& switches,
                                    const std::vector<std::string>& known_nodes) {
  auto made = try_network(switches, known_nodes);
  if (!made) return tl::unexpected(std::move(made.error().front().error));
  return std::move(*made);
}

}  // namespace gw::model
