// Times of a job that must fit each other.
#include "model/job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gw::model {
namespace {

using testing::HasSubstr;

TEST(Times, ThatContradictAreRefused) {
  constexpr base::Time kNow{1'800'000'000'000'000};
  struct Case {
    const char* title;
    base::Duration least, limit, begin, deadline;  // begin and deadline from now on; zero: not given
    const char* says;
  };
  const auto m = [](int64_t n) { return base::minutes(n); };
  const Case kCases[] = {
      {"nothing", {}, base::kUnlimited, {}, {}, ""},
      {"time_min below the limit", m(10), m(60), {}, {}, ""},
      {"time_min as the limit", m(60), m(60), {}, {}, ""},
      {"time_min above the limit", m(61), m(60), {}, {}, "--time-min=01:01:00 is more than the time limit of 01:00:00"},
      {"negative", m(-1), m(60), {}, {}, "negative"},
      {"just in time", {}, m(60), {}, m(60), ""},
      {"too late", {}, m(61), {}, m(60), "--deadline: a run of 01:01:00"},
      {"shortened in time", m(60), m(61), {}, m(60), ""},
      {"begins too late", {}, m(60), m(30), m(60), "does not end by"},
      {"begins in time", {}, m(30), m(30), m(60), ""},
      {"any length", {}, base::kUnlimited, {}, m(1), ""},
      {"begins after the deadline", {}, base::kUnlimited, m(2), m(1), "does not end by"},
      {"has passed", {}, base::kUnlimited, {}, m(-1), "does not end by"},
  };
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.title);
    JobSpec spec;
    spec.time_min = c.least;
    spec.time_limit = c.limit;
    if (c.begin.us != 0) spec.begin = kNow + c.begin;
    if (c.deadline.us != 0) spec.deadline = kNow + c.deadline;
    const auto checked = check_times(spec, kNow);
    EXPECT_THAT(checked ? "" : checked.error().what, HasSubstr(c.says));
    EXPECT_EQ(checked.has_value(), *c.says == 0);
  }
}

}  // namespace
}  // namespace gw::model
