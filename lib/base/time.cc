// The system clock, and the printed forms of times and durations.
#include "base/time.h"

#include <fmt/compile.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <string>

namespace gw::base {
namespace {

/// Of 0 to 99.
std::string two_digits(int64_t n) { return {static_cast<char>('0' + n / 10), static_cast<char>('0' + n % 10)}; }

}  // namespace

Time SystemClock::now() const {
  timespec t{};
  clock_gettime(CLOCK_REALTIME, &t);
  return {static_cast<int64_t>(t.tv_sec) * 1'000'000 + t.tv_nsec / 1'000};
}

Duration round_up_to_minute(Duration d) {
  constexpr int64_t kMinute = minutes(1).us;
  if (d.us > kUnlimited.us - kMinute || d.us <= 0) return d;
  return {(d.us + kMinute - 1) / kMinute * kMinute};
}

std::string format_duration(Duration d, bool squeue_style) {
  if (d == kUnlimited) return "UNLIMITED";
  const int64_t total = std::max<int64_t>(d.seconds(), 0);
  const int64_t days = total / 86'400, hour = total / 3'600 % 24, minute = total / 60 % 60, second = total % 60;
  if (days > 0) return fmt::format("{}-{:02}:{:02}:{:02}", days, hour, minute, second);
  if (!squeue_style) return two_digits(hour) + ":" + two_digits(minute) + ":" + two_digits(second);
  if (hour > 0) return fmt::format("{}:{:02}:{:02}", hour, minute, second);
  return fmt::format("{}:{:02}", minute, second);
}

std::string format_time(Time t) {
  if (!t || t == Time::never()) return "Unknown";
  const time_t seconds = t.seconds();
  tm local{};
  if (localtime_r(&seconds, &local) == nullptr) return "Unknown";
  return fmt::format(FMT_COMPILE("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}"), local.tm_year + 1900, local.tm_mon + 1,
                     local.tm_mday, local.tm_hour, local.tm_min, local.tm_sec);
}

}  // namespace gw::base
