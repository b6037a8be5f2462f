// hwloc XML exports: what is accepted describes a possible machine, and can be drawn.
#include "tests/fuzz/fuzz.h"
#include "tests/unit/topo/leaks.h"
#include "topo/generate.h"
#include "topo/reader.h"
#include "wire/convert.h"

namespace gw::fuzz {
namespace {

bool run(std::string_view input) {
  const topo::ThirdPartyLeaks leaks;
  const auto node = topo::read_xml_text(input);
  if (!node) {
    check_error(node.error());
    return false;
  }
  FUZZ_CHECK(model::validate(*node).has_value());
  FUZZ_CHECK(wire::from_wire(wire::to_wire(*node)) == *node);
  return true;
}

std::vector<std::string> made_inputs() {
  std::vector<std::string> all;
  for (const std::string& name : topo::generated_names()) all.push_back(topo::generate_xml(name).value());
  return all;
}

GW_FUZZ_TARGET("hwloc", run, made_inputs);

}  // namespace
}  // namespace gw::fuzz
