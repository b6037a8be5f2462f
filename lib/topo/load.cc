// Tells live machine, generated machine and file apart; see load.h.
#include "topo/load.h"

#include <unistd.h>

#include <algorithm>

#include "base/text.h"
#include "topo/generate.h"
#include "topo/gres.h"
#include "topo/reader.h"

namespace gw::topo {
namespace {

bool looks_like_path(const std::string& text) {
  return text.find('/') != std::string::npos || text.ends_with(".xml") || ::access(text.c_str(), F_OK) == 0;
}

base::Result<model::NodeTopology> load_live() {
  auto node = read_live();
  if (node) (void)add_live_gres(*node);
  return node;
}

}  // namespace

base::Result<model::NodeTopology> load(const std::string& name_or_path) {
  if (name_or_path == "live") return load_live();
  auto names = generated_names();
  if (std::find(names.begin(), names.end(), name_or_path) != names.end()) {
    GW_TRY(xml, generate_xml(name_or_path));
    return read_xml_text(xml);
  }
  if (!name_or_path.empty() && looks_like_path(name_or_path)) return read_xml_file(name_or_path);
  names.emplace_back("live");
  const auto guess = base::did_you_mean(name_or_path, names);
  return base::fail(base::ErrorCode::kNotFound,
                    "there is no topology named \"" + base::printable(name_or_path, 64) + "\"",
                    (guess.empty() ? std::string() : guess + " ") + "give one of " + base::join(names, ", ") +
                        ", or the path of an hwloc XML file");
}

}  // namespace gw::topo
