// See calendar.h.
#include "base/calendar.h"

#include <array>
#include <ctime>
#include <string>
#include <vector>

#include "base/text.h"

namespace gw::base {
namespace {

constexpr std::array<std::string_view, static_cast<size_t>(kLastPeriod) + 1> kNames = {"total", "day",     "week",
                                                                                       "month", "quarter", "year"};

/// Midnight of the first day of the period, `more` periods on.
Time start_of(Period period, Time at, int more) {
  const time_t seconds = at.seconds();
  tm local{};
  ::localtime_r(&seconds, &local);
  tm day{};
  day.tm_year = local.tm_year;
  day.tm_mon = local.tm_mon;
  day.tm_mday = local.tm_mday;
  switch (period) {
    case Period::kNone:
      return more > 0 ? Time::never() : Time{};
    case Period::kDay:
      day.tm_mday += more;
      break;
    case Period::kWeek:
      day.tm_mday += 7 * more - (local.tm_wday + 6) % 7;
      break;
    case Period::kMonth:
      day.tm_mon += more;
      day.tm_mday = 1;
      break;
    case Period::kQuarter:
      day.tm_mon += 3 * more - local.tm_mon % 3;
      day.tm_mday = 1;
      break;
    case Period::kYear:
      day.tm_year += more;
      day.tm_mon = 0;
      day.tm_mday = 1;
      break;
  }
  day.tm_isdst = -1;
  return {static_cast<int64_t>(::mktime(&day)) * 1'000'000};
}

}  // namespace

std::string_view name(Period period) { return kNames.at(static_cast<size_t>(period)); }

Result<Period> parse_period(std::string_view text) {
  for (size_t i = 0; i < kNames.size(); ++i)
    if (iequals(text, kNames[i])) return static_cast<Period>(i);
  const std::vector<std::string> known(kNames.begin(), kNames.end());
  const std::string close = did_you_mean(to_lower(text), known);
  return invalid("no period \"" + printable(text, 60) + "\"",
                 close.empty() ? "day, week, month, quarter, year or total" : close);
}

Time period_start(Period period, Time at) { return start_of(period, at, 0); }

Time period_end(Period period, Time at) { return start_of(period, at, 1); }

}  // namespace gw::base
