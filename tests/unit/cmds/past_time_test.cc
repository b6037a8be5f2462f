// Times of what has been.
#include "cmds/shared/past_time.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>

namespace gw::cmds {
namespace {

/// Words as they are understood on 10 April 2027 at noon.
std::string past(const std::string& text, bool is_end = false) {
  ::setenv("TZ", "UTC", 1);
  ::tzset();
  const base::Time now = *base::parse_time("2027-04-10T12:00:00", base::Time{1'800'000'000'000'000});
  const auto time = is_end ? parse_past_end(text, now) : parse_past(text, now);
  return time ? base::format_time(*time) : "error";
}

TEST(PastTime, WhatNamesNoDayHasBeen) {
  EXPECT_EQ(past("08:00"), "2027-04-10T08:00:00");
  EXPECT_EQ(past("16:00"), "2027-04-09T16:00:00");
  EXPECT_EQ(past("4pm"), "2027-04-09T16:00:00");
  EXPECT_EQ(past("midnight"), "2027-04-10T00:00:00");
  EXPECT_EQ(past("today"), "2027-04-10T00:00:00");
}

TEST(PastTime, WhatNamesNoYearHasBeen) {
  EXPECT_EQ(past("03/01"), "2027-03-01T00:00:00");
  EXPECT_EQ(past("0301"), "2027-03-01T00:00:00");
  EXPECT_EQ(past("04/10"), "2027-04-10T00:00:00");
  EXPECT_EQ(past("1231"), "2026-12-31T00:00:00");
  EXPECT_EQ(past("04/11"), "2026-04-11T00:00:00");
  EXPECT_EQ(past("12/20-08:30"), "2026-12-20T08:30:00");
  EXPECT_EQ(past("2026-12-31"), "2026-12-31T00:00:00");
  EXPECT_EQ(past("2028-01-01"), "2028-01-01T00:00:00");
}

TEST(PastTime, AnEndMayLieAhead) {
  const auto end = [](const std::string& text) { return past(text, true); };
  EXPECT_EQ(end("04/30"), "2027-04-30T00:00:00");
  EXPECT_EQ(end("03/01"), "2027-03-01T00:00:00");
  EXPECT_EQ(end("1231"), "2027-12-31T00:00:00");
  EXPECT_EQ(end("2026-12-31"), "2026-12-31T00:00:00");
  EXPECT_EQ(end("2028-01-01"), "2028-01-01T00:00:00");
  EXPECT_EQ(end("08:00"), "2027-04-10T08:00:00");
  EXPECT_EQ(end("23:59"), "2027-04-10T23:59:00");
  EXPECT_EQ(end("now"), "2027-04-10T12:00:00");
  EXPECT_EQ(end("now-2hours"), "2027-04-10T10:00:00");
  EXPECT_EQ(end("now+1hour"), "2027-04-10T13:00:00");
  EXPECT_EQ(end("tomorrow"), "2027-04-11T00:00:00");
  EXPECT_EQ(end("today"), "2027-04-10T00:00:00");
  EXPECT_EQ(end("sometime"), "error");
}

TEST(PastTime, RelativeTimes) {
  EXPECT_EQ(past("now-2hours"), "2027-04-10T10:00:00");
  EXPECT_EQ(past("now"), "2027-04-10T12:00:00");
  EXPECT_EQ(past("now+1hour"), "2027-04-10T13:00:00");
  EXPECT_EQ(past("tomorrow"), "2027-04-11T00:00:00");
  EXPECT_EQ(past("sometime"), "error");
}

}  // namespace
}  // namespace gw::cmds
