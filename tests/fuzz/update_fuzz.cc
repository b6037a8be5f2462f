// `gcontrol update`: KEY=VALUE words, one a line, to a request.
#include "base/text.h"
#include "cmds/gcontrol/control_verbs.h"
#include "tests/fuzz/fuzz.h"

namespace gw::fuzz {
namespace {

bool run(std::string_view input) {
  const std::vector<std::string> words = base::split(input, '\n');
  const auto request = cmds::update_request(words, {1'800'000'000'000'000});
  if (!request) {
    check_error(request.error());
    return false;
  }
  FUZZ_CHECK(request->kind_case() != wire::ApiRequest::KIND_NOT_SET);
  return true;
}

GW_FUZZ_TARGET("update", run, nullptr);

}  // namespace
}  // namespace gw::fuzz
