// gangway.yaml: laid over another one; read whole and written out again.
#include "config/config.h"
#include "config/merge.h"
#include "tests/fuzz/fuzz.h"

namespace gw::fuzz {
namespace {

constexpr std::string_view kBase = "cluster: one\ncontroller: {host: h, user: '0'}\nnodes: [{name: 'n[1-2]'}]\n";

void check_merge(std::string_view text) {
  const auto merged = config::merge_yaml(kBase, text, "over.yaml");
  if (!merged) return check_error(merged.error());
  FUZZ_CHECK(merged->find("host: h") != std::string::npos || text.find("controller") != std::string_view::npos);
}

bool run(std::string_view input) {
  check_merge(input);
  const auto config = config::parse(input, "x.yaml");
  if (!config) {
    check_error(config.error());
    return false;
  }
  FUZZ_CHECK(config::diff(*config, *config).empty());
  FUZZ_CHECK(config::restart_needed(*config, *config).empty());
  FUZZ_CHECK(!config::entries(*config).empty());
  const auto again = config::parse(config::dump(*config), "x.yaml");
  if (!again) check_error(again.error());
  FUZZ_CHECK(again.has_value());
  FUZZ_CHECK(config::diff(*config, *again).empty());
  return true;
}

GW_FUZZ_TARGET("config", run, nullptr);

}  // namespace
}  // namespace gw::fuzz
