// The tree of quotas as a file: what is read and written again is the same, to the byte.
#include "config/quota_file.h"
#include "tests/fuzz/fuzz.h"

namespace gw::fuzz {
namespace {

bool run(std::string_view input) {
  const auto anybody = [](const std::string&) { return base::Status{}; };
  const auto file = config::parse_quota_file(input, "x.yaml", anybody);
  if (!file) {
    check_error(file.error());
    return false;
  }
  const std::string text = config::quota_file_text(*file);
  const auto again = config::parse_quota_file(text, "x.yaml", anybody);
  if (!again) last_error() = again.error().text();
  FUZZ_CHECK(again.has_value());
  FUZZ_CHECK(*again == *file);
  FUZZ_CHECK(config::quota_file_text(*again) == text);
  return true;
}

GW_FUZZ_TARGET("quota_file", run, nullptr);

}  // namespace
}  // namespace gw::fuzz
