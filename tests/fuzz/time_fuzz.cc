// Time limits and points in time, as users write them.
#include <cstdlib>
#include <ctime>

#include "base/time.h"
#include "tests/fuzz/fuzz.h"

namespace gw::fuzz {
namespace {

constexpr base::Time kNow{1'800'000'000'000'000};

void use_utc() {
  ::setenv("TZ", "UTC", 1);
  ::tzset();
}

bool check_duration(std::string_view text) {
  const auto d = base::parse_duration(text);
  if (!d) {
    check_error(d.error());
    return false;
  }
  FUZZ_CHECK(d->us >= 0);
  const base::Duration minutes = base::round_up_to_minute(*d);
  FUZZ_CHECK(minutes >= *d);
  FUZZ_CHECK(base::round_up_to_minute(minutes) == minutes);
  FUZZ_CHECK(base::parse_duration(base::format_duration(*d)) == *d);
  FUZZ_CHECK(!base::format_duration(*d, true).empty());
  FUZZ_CHECK(kNow + *d >= kNow);
  return true;
}

bool check_time(std::string_view text) {
  const auto t = base::parse_time(text, kNow);
  if (!t) {
    check_error(t.error());
    return false;
  }
  const std::string shown = base::format_time(*t);
  const auto again = base::parse_time(shown, kNow);
  FUZZ_CHECK(again && base::format_time(*again) == shown);
  return true;
}

bool run(std::string_view input) {
  static const bool is_utc = (use_utc(), true);
  const bool is_duration = check_duration(input);
  const bool is_time = check_time(input);
  return is_utc && (is_duration || is_time);
}

GW_FUZZ_TARGET("time", run, nullptr);

}  // namespace
}  // namespace gw::fuzz
