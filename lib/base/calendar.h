// Periods of the calendar in local time: what a day, a week or a month is for people who are given so much in each.
// Invariant: periods of one kind follow each other without a gap, whatever summer time does.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace gw::base {

enum class Period : uint8_t {
  kNone,  ///< All of time.
  kDay,
  kWeek,  ///< From Monday on.
  kMonth,
  kQuarter,  ///< From the first of January, April, July and October on.
  kYear,
};
constexpr Period kLastPeriod = Period::kYear;

/// "month"; "total" for kNone.
std::string_view name(Period period);
/// Errors: none of those, with "did you mean".
Result<Period> parse_period(std::string_view text);
/// Midnight of the day on which the period begins that `at` lies in; zero for kNone.
Time period_start(Period period, Time at);
/// When the next one begins; never for kNone.
Time period_end(Period period, Time at);

}  // namespace gw::base
