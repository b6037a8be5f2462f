// Batch scripts: the directives are read by gbatch's own table, and make a request that holds together.
#include <algorithm>

#include "client/options/directives.h"
#include "cmds/gbatch/batch_components.h"
#include "cmds/request/batch_script.h"
#include "tests/fuzz/fuzz.h"
#include "wire/convert.h"

namespace gw::fuzz {
namespace {

constexpr base::Time kNow{1'800'000'000'000'000};

bool is_fine(const base::Status& status) {
  if (!status) check_error(status.error());
  return status.has_value();
}

/// The request of a component holds together, and arrives at the controller as it was.
bool is_sound(cmds::BatchOptions& options) {
  std::vector<std::string> notes;
  if (!is_fine(cmds::complete(options, notes))) return false;
  model::Request again = options.spec.request;
  FUZZ_CHECK(model::normalise(again) && again == options.spec.request);
  const auto received = wire::from_wire(wire::to_wire(options.spec));
  FUZZ_CHECK(received && *received == options.spec);
  return true;
}

bool run(std::string_view input) {
  if (!is_fine(cmds::check_script(input))) return false;
  const auto directives = client::read_directives(input, "job.sh");
  if (!directives) {
    check_error(directives.error());
    return false;
  }
  auto components = cmds::read_components({*directives, "job.sh", [](const char*) { return nullptr; }, {}, kNow});
  if (!components) {
    check_error(components.error());
    return false;
  }
  return std::all_of(components->begin(), components->end(), is_sound);
}

GW_FUZZ_TARGET("script", run, nullptr);

}  // namespace
}  // namespace gw::fuzz
