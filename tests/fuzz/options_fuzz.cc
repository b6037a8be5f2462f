// Argument lists, one word a line: gbatch's table by the rules of getopt_long, with the components of a
// heterogeneous job.
#include <algorithm>

#include "base/text.h"
#include "cmds/gbatch/batch_components.h"
#include "tests/fuzz/fuzz.h"

namespace gw::fuzz {
namespace {

constexpr base::Time kNow{1'800'000'000'000'000};

bool is_fine(const base::Status& status) {
  if (!status) check_error(status.error());
  return status.has_value();
}

bool run(std::string_view input) {
  const std::vector<std::string> words = base::split(input, '\n');
  cmds::BatchOptions early;
  client::CommonFlags flags;
  auto line = cmds::split_components(cmds::batch_table(early, flags, kNow), words);
  if (!line) {
    check_error(line.error());
    return false;
  }
  FUZZ_CHECK(line->operands.size() <= words.size());
  if (!flags.any()) FUZZ_CHECK(std::equal(line->operands.rbegin(), line->operands.rend(), words.rbegin()));
  auto components =
      cmds::read_components({{}, "job.sh", [](const char*) { return nullptr; }, std::move(line->components), kNow});
  if (!components) {
    check_error(components.error());
    return false;
  }
  std::vector<std::string> notes;
  return std::all_of(components->begin(), components->end(),
                     [&](cmds::BatchOptions& o) { return is_fine(cmds::complete(o, notes)); });
}

GW_FUZZ_TARGET("options", run, nullptr);

}  // namespace
}  // namespace gw::fuzz
