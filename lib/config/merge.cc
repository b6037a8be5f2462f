// Merging of YAML maps. yaml-cpp's exceptions end here.
#include "config/merge.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include "base/text.h"

namespace gw::config {
namespace {

using base::Result;

constexpr int kMaxDepth = 32;

Result<YAML::Node> load_map(std::string_view text, const std::string& path) {
  try {
    YAML::Node node = YAML::Load(std::string(text));
    if (node.IsNull()) return YAML::Node(YAML::NodeType::Map);
    if (!node.IsMap()) return base::invalid(path + ":1:1: not a map of keys and values");
    return node;
  } catch (const YAML::Exception& e) {
    return base::invalid(fmt::format("{}:{}:{}: {}", path, e.mark.line + 1, e.mark.column + 1, base::printable(e.msg)));
  }
}

void lay_over(YAML::Node target, const YAML::Node& over, int depth) {
  for (const auto& entry : over) {
    const std::string key = entry.first.as<std::string>();
    if (depth < kMaxDepth && entry.second.IsMap() && target[key].IsMap()) {
      lay_over(target[key], entry.second, depth + 1);
    } else {
      target[key] = entry.second;
    }
  }
}

}  // namespace

Result<std::string> merge_yaml(std::string_view base, std::string_view over, const std::string& over_path) {
  GW_TRY(target, load_map(base, "generated configuration"));
  GW_TRY(changes, load_map(over, over_path));
  try {
    lay_over(target, changes, 0);
    YAML::Emitter out;
    out << target;
    return std::string(out.c_str()) + "\n";
  } catch (const YAML::Exception& e) {
    return base::invalid(
        fmt::format("{}:{}:{}: {}", over_path, e.mark.line + 1, e.mark.column + 1, base::printable(e.msg)));
  }
}

}  // namespace gw::config
