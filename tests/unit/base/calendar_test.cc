// Periods of the calendar, in a zone that changes to summer time.
#include "base/calendar.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>

namespace gw::base {
namespace {

/// A zone for the time of a test.
class Zone {
 public:
  explicit Zone(const char* name) {
    if (const char* was = ::getenv("TZ")) before_ = was;
    ::setenv("TZ", name, 1);
    ::tzset();
  }
  ~Zone() {
    before_.empty() ? ::unsetenv("TZ") : ::setenv("TZ", before_.c_str(), 1);
    ::tzset();
  }
  Zone(const Zone&) = delete;
  Zone& operator=(const Zone&) = delete;

 private:
  std::string before_;
};

// Summer time from the last Sunday of March to that of October.
constexpr char kBerlin[] = "CET-1CEST,M3.5.0,M10.5.0/3";

std::string start(Period period, const char* at) { return format_time(period_start(period, *parse_time(at, Time{1}))); }
std::string end(Period period, const char* at) { return format_time(period_end(period, *parse_time(at, Time{1}))); }

TEST(Calendar, APeriodBeginsAtMidnightOfItsFirstDay) {
  const Zone zone(kBerlin);
  EXPECT_EQ(start(Period::kDay, "2026-11-27T19:30:00"), "2026-11-27T00:00:00");
  EXPECT_EQ(start(Period::kWeek, "2026-11-27T19:30:00"), "2026-11-23T00:00:00") << "a Monday";
  EXPECT_EQ(start(Period::kWeek, "2026-11-29T23:59:59"), "2026-11-23T00:00:00") << "Sunday ends it";
  EXPECT_EQ(start(Period::kMonth, "2026-11-27T19:30:00"), "2026-11-01T00:00:00");
  EXPECT_EQ(start(Period::kQuarter, "2026-11-27T19:30:00"), "2026-10-01T00:00:00");
  EXPECT_EQ(start(Period::kYear, "2026-11-27T19:30:00"), "2026-01-01T00:00:00");
  EXPECT_EQ(period_start(Period::kNone, Time{5}).us, 0);
}

TEST(Calendar, ItsFirstMomentIsItsOwn) {
  const Zone zone(kBerlin);
  for (const Period period : {Period::kDay, Period::kWeek, Period::kMonth, Period::kQuarter, Period::kYear}) {
    const Time next = period_end(period, *parse_time("2026-11-27T19:30:00", Time{1}));
    EXPECT_EQ(period_start(period, next), next) << name(period);
    EXPECT_LT(period_start(period, next - microseconds(1)), next) << name(period);
    EXPECT_EQ(period_end(period, next - microseconds(1)), next) << name(period);
  }
}

TEST(Calendar, EndsAcrossMonthsAndYears) {
  const Zone zone(kBerlin);
  EXPECT_EQ(end(Period::kMonth, "2026-01-31T12:00:00"), "2026-02-01T00:00:00");
  EXPECT_EQ(end(Period::kMonth, "2026-12-31T12:00:00"), "2027-01-01T00:00:00");
  EXPECT_EQ(end(Period::kQuarter, "2026-12-31T12:00:00"), "2027-01-01T00:00:00");
  EXPECT_EQ(end(Period::kWeek, "2026-12-31T12:00:00"), "2027-01-04T00:00:00");
  EXPECT_EQ(end(Period::kYear, "2028-02-29T12:00:00"), "2029-01-01T00:00:00");
  EXPECT_EQ(period_end(Period::kNone, Time{5}), Time::never());
}

TEST(Calendar, ADayOfTheChangeToSummerTimeHas23Hours) {
  const Zone zone(kBerlin);
  const Time noon = *parse_time("2026-03-29T12:00:00", Time{1});
  EXPECT_EQ((period_end(Period::kDay, noon) - period_start(Period::kDay, noon)).us, hours(23).us);
}

TEST(Calendar, NamesAreRead) {
  for (int i = 0; i <= static_cast<int>(kLastPeriod); ++i) {
    const auto period = static_cast<Period>(i);
    EXPECT_EQ(parse_period(name(period)).value(), period);
  }
  EXPECT_EQ(parse_period("MONTH").value(), Period::kMonth);
  EXPECT_EQ(parse_period("mont").error().hint, "did you mean \"month\"?");
}

}  // namespace
}  // namespace gw::base
