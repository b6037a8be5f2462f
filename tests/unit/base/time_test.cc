// Durations and points in time: every form that users write, its errors, and the printed forms.
#include "base/time.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>

namespace gw::base {
namespace {

TEST(Duration, Parses) {
  struct Case {
    const char* text;
    int64_t seconds;  // -1: unlimited, -2: refused
  };
  static constexpr Case kCases[] = {
      {"10", 600},        {"0", 0},          {"10:30", 630},      {"1:00:00", 3600},
      {"90:00", 5400},    {"2-0", 172800},   {"1-12", 129600},    {"1-12:30", 131400},
      {"1-1:1:1", 90061}, {"00:00:05", 5},   {"UNLIMITED", -1},   {"infinite", -1},
      {"-1", -1},         {"90s", 90},       {"5m", 300},         {"2h", 7200},
      {"1d12h", 129600},  {"1D", 86400},     {" 5 ", 300},        {"1h30m5s", 5405},
      {"", -2},           {"abc", -2},       {"1:2:3:4", -2},     {"1-", -2},
      {"-5", -2},         {"1-2:3:4:5", -2}, {":", -2},           {"1:", -2},
      {"5m2h", -2},       {"5x", -2},        {"5m5m", -2},        {"1-2h", -2},
      {"1.5h", -2},       {"1--2", -2},      {"99999999999", -2}, {"9999999999-0", -2},
      {"9999999999", -2},
  };
  for (const Case& c : kCases) {
    const auto d = parse_duration(c.text);
    EXPECT_EQ(!d ? -2 : *d == kUnlimited ? -1 : d->seconds(), c.seconds) << c.text;
  }
}

TEST(Duration, RoundsUpToMinutes) {
  EXPECT_EQ(round_up_to_minute(seconds(0)), seconds(0));
  EXPECT_EQ(round_up_to_minute(seconds(1)), minutes(1));
  EXPECT_EQ(round_up_to_minute(seconds(60)), minutes(1));
  EXPECT_EQ(round_up_to_minute(seconds(61)), minutes(2));
  EXPECT_EQ(round_up_to_minute(kUnlimited), kUnlimited);
}

TEST(Duration, Formats) {
  struct Case {
    Duration d;
    const char* plain;
    const char* squeue;
  };
  static constexpr Case kCases[] = {
      {seconds(0), "00:00:00", "0:00"},       {seconds(65), "00:01:05", "1:05"},
      {seconds(3600), "01:00:00", "1:00:00"}, {seconds(93784), "1-02:03:04", "1-02:03:04"},
      {kUnlimited, "UNLIMITED", "UNLIMITED"}, {seconds(-5), "00:00:00", "0:00"},
  };
  for (const Case& c : kCases) {
    EXPECT_EQ(format_duration(c.d), c.plain);
    EXPECT_EQ(format_duration(c.d, true), c.squeue);
  }
}

TEST(Time, SaturatesAtNever) {
  EXPECT_EQ(Time{5} + kUnlimited, Time::never());
  EXPECT_EQ(Time::never() + seconds(1), Time::never());
  EXPECT_EQ(Time{5} + microseconds(2), Time{7});
}

TEST(Time, SystemClockGoesForward) {
  const SystemClock clock;
  const Time first = clock.now();
  EXPECT_GT(first.seconds(), 1'600'000'000);
  EXPECT_GE(clock.now(), first);
}

/// Sets the time zone for one test. "Now" is Wednesday 2026-05-20 15:30:00 there.
class TimeForms : public testing::Test {
 protected:
  void SetUp() override {
    if (const char* zone = std::getenv("TZ")) old_ = zone;
    set_zone("CET-1CEST,M3.5.0,M10.5.0/3");
    now_ = {1'779'283'800'000'000};
  }
  void TearDown() override { set_zone(old_.c_str()); }

  static void set_zone(const char* zone) {
    if (*zone == '\0') {
      unsetenv("TZ");
    } else {
      setenv("TZ", zone, 1);
    }
    tzset();
  }

  std::string read(const char* text) const {
    const auto t = parse_time(text, now_);
    return t ? format_time(*t) : "refused";
  }

  std::string old_;
  Time now_;
};

TEST_F(TimeForms, ParsesAndFormats) {
  struct Case {
    const char* text;
    const char* expected;
  };
  static constexpr Case kCases[] = {
      {"now", "2026-05-20T15:30:00"},
      {"now+90", "2026-05-20T15:31:30"},
      {"now+1hour", "2026-05-20T16:30:00"},
      {"now+2hours", "2026-05-20T17:30:00"},
      {"NOW+3days", "2026-05-23T15:30:00"},
      {"now-1week", "2026-05-13T15:30:00"},
      {"16:00", "2026-05-20T16:00:00"},
      {"16:00:30", "2026-05-20T16:00:30"},
      {"15:00", "2026-05-21T15:00:00"},
      {"4pm", "2026-05-20T16:00:00"},
      {"4:30 PM", "2026-05-20T16:30:00"},
      {"12am", "2026-05-21T00:00:00"},
      {"12pm", "2026-05-21T12:00:00"},
      {"today", "2026-05-20T00:00:00"},
      {"tomorrow", "2026-05-21T00:00:00"},
      {"tomorrow 4pm", "2026-05-21T16:00:00"},
      {"16:00 tomorrow", "2026-05-21T16:00:00"},
      {"midnight", "2026-05-21T00:00:00"},
      {"noon", "2026-05-21T12:00:00"},
      {"2027-01-20", "2027-01-20T00:00:00"},
      {"2027-01-20T12:34", "2027-01-20T12:34:00"},
      {"2027-01-20T12:34:56", "2027-01-20T12:34:56"},
      {"2024-02-29", "2024-02-29T00:00:00"},
      {"0601", "2026-06-01T00:00:00"},
      {"0101", "2027-01-01T00:00:00"},
      {"012028", "2028-01-20T00:00:00"},
      {"06/01", "2026-06-01T00:00:00"},
      {"6/1/27", "2027-06-01T00:00:00"},
      {"06/01/2027", "2027-06-01T00:00:00"},
      {"06/01/27-16:30", "2027-06-01T16:30:00"},
      {"06/01/2027-4:30pm", "2027-06-01T16:30:00"},
      {"6.1.27", "2027-06-01T00:00:00"},
  };
  for (const Case& c : kCases) EXPECT_EQ(read(c.text), c.expected) << c.text;
}

TEST_F(TimeForms, Refuses) {
  for (const char* text : {"",
                           "soon",
                           "25:00",
                           "16:60",
                           "13pm",
                           "0pm",
                           "2027-02-29",
                           "2027-13-01",
                           "1301",
                           "0230",
                           "now+",
                           "now+x",
                           "now+1lightyear",
                           "now+99999999999weeks",
                           "16:00 17:00",
                           "today tomorrow",
                           "2027-01-20Tnoonish",
                           "12",
                           "1/2/3/4",
                           "99999999999999-01-01",
                           "16:00:00:00",
                           "1:2:",
                           "now+9999999999weeks",
                           "2027-00-10",
                           "2027-01-00"}) {
    EXPECT_EQ(read(text), "refused") << text;
  }
}

TEST_F(TimeForms, TomorrowOnTheDayClocksChange) {
  now_ = parse_time("2026-03-28T23:30", now_).value();
  EXPECT_EQ(read("tomorrow"), "2026-03-29T00:00:00");
  EXPECT_EQ(read("23:00"), "2026-03-29T23:00:00");
}

TEST_F(TimeForms, UnknownForZeroAndNever) {
  EXPECT_EQ(format_time(Time{}), "Unknown");
  EXPECT_EQ(format_time(Time::never()), "Unknown");
}

}  // namespace
}  // namespace gw::base
