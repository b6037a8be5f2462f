// network:. See read.h.
#include <fmt/format.h>

#include "base/hostlist.h"
#include "base/text.h"
#include "config/read.h"

namespace gw::config {
namespace {

using model::SwitchConfig;

// A node is under one switch and a switch under one other: more names than this cannot be right.
constexpr size_t kMaxNames = 2 * base::kMaxHosts;

bool is_named(const SwitchConfig& line, const Value& item, Problems& problems) {
  if (!line.name.empty()) return true;
  if (item.kind == Value::Kind::kMap && item.find("switch") == nullptr)
    problems.error(item, "this entry of network has no name", "write `switch: NAME`");
  return false;
}

}  // namespace

void read_network(const Value& root, const std::vector<std::string>& node_names, std::vector<SwitchConfig>& lines,
                  model::Network& network, Problems& problems) {
  std::vector<const Value*> items;
  size_t names = 0;
  const size_t errors_before = problems.errors();
  for (const Value& item : list_items(root, "network", problems)) {
    SwitchConfig line;
    if (item.kind == Value::Kind::kMap)
      read_map(switch_keys(), "", item, line, problems);
    else
      problems.error(item, "an entry of network is a map", "write `- {switch: NAME, nodes: n[1-4]}`");
    if (!is_named(line, item, problems)) continue;
    names += line.nodes.size() + line.switches.size();
    if (names > kMaxNames) return problems.error(item, fmt::format("more than {} names in network", kMaxNames));
    lines.push_back(std::move(line));
    items.push_back(&item);
  }
  if (problems.errors() != errors_before) return;  // what follows from half a line would only confuse
  // A cluster without nodes knows none of those named, which an empty list would not say.
  auto built = model::try_network(lines, node_names.empty() ? std::vector<std::string>{""} : node_names);
  if (built) {
    network = std::move(*built);
    return;
  }
  for (const model::NetworkFault& fault : built.error())
    problems.error(place_of(*items[fault.entry], fault.key), fault.error);
}

}  // namespace gw::config
