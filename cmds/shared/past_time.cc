// See past_time.h.
#include "cmds/shared/past_time.h"

#include <ctime>

#include "base/text.h"

namespace gw::cmds {

using base::Time;

namespace {

/// The same time of day on the day before, whether or not clocks were put forward or back between.
Time day_before(Time time) {
  const time_t seconds = time.seconds();
  tm local{};
  ::localtime_r(&seconds, &local);
  --local.tm_mday;
  local.tm_isdst = -1;
  return {::mktime(&local) * int64_t{1'000'000}};
}

Time beginning_of_year(Time time) {
  const time_t seconds = time.seconds();
  tm local{};
  ::localtime_r(&seconds, &local);
  local.tm_mon = 0;
  local.tm_mday = 1;
  local.tm_hour = local.tm_min = local.tm_sec = 0;
  local.tm_isdst = -1;
  return {::mktime(&local) * int64_t{1'000'000}};
}

bool is_counted_from_now(const std::string& text) {
  const std::string lower = base::to_lower(text);
  return lower.starts_with("now") || lower.starts_with("tomorrow");
}

}  // namespace

Time midnight_before(Time now) {
  const time_t seconds = now.seconds();
  tm local{};
  ::localtime_r(&seconds, &local);
  local.tm_hour = local.tm_min = local.tm_sec = 0;
  local.tm_isdst = -1;
  return {::mktime(&local) * int64_t{1'000'000}};
}

base::Result<Time> parse_past(const std::string& text, Time now) {
  if (text.starts_with("now-")) {
    GW_TRY(ahead, base::parse_time("now+" + text.substr(4), now));
    return now - (ahead - now);
  }
  if (base::iequals(text, "today") || base::iequals(text, "midnight")) return midnight_before(now);
  GW_TRY(time, base::parse_time(text, now));
  if (time <= now || is_counted_from_now(text)) return time;
  // What comes is meant by nobody who names a time alone, or a day without its year.
  GW_TRY(yesterday, base::parse_time(text, day_before(now)));
  if (yesterday <= now) return yesterday;
  const Time new_year = beginning_of_year(now);
  GW_TRY(this_year, base::parse_time(text, new_year));
  if (this_year <= now) return this_year;
  const auto last_year = base::parse_time(text, beginning_of_year(day_before(new_year)));
  return last_year && *last_year <= now ? *last_year : this_year;
}

base::Result<Time> parse_past_end(const std::string& text, Time now) {
  GW_TRY(past, parse_past(text, now));
  const Time midnight = midnight_before(now);
  const auto today = base::parse_time(text, midnight);
  if (!today || *today <= now || is_counted_from_now(text)) return past;
  if (*today < midnight + base::hours(24)) return *today;
  const auto this_year = base::parse_time(text, beginning_of_year(now));
  return this_year ? *this_year : past;
}

}  // namespace gw::cmds
