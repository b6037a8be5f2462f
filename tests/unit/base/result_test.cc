// Errors: their text, what errno values become, and how the macros pass them on.
#include "base/result.h"

#include <gtest/gtest.h>

#include "base/check.h"

namespace gw::base {
namespace {

Result<int> half(int n) {
  if (n % 2 != 0) return invalid("odd", "give an even number");
  return n / 2;
}
Status even(int n) {
  GW_TRY_STATUS(half(n));
  return {};
}
Result<int> quarter(int n) {
  GW_TRY(once, half(n));
  GW_TRY(twice, half(once));
  return twice;
}

TEST(Result, MacrosPassValuesAndErrorsOn) {
  EXPECT_EQ(quarter(8).value(), 2);
  EXPECT_EQ(quarter(6).error().what, "odd");
  EXPECT_TRUE(even(2));
  EXPECT_FALSE(even(3));
}

TEST(Result, TextHasTheHintInBrackets) {
  EXPECT_EQ((Error{ErrorCode::kInvalid, "odd", "give an even number"}.text()), "odd (give an even number)");
  EXPECT_EQ((Error{ErrorCode::kInvalid, "odd", ""}.text()), "odd");
}

TEST(Result, ErrnoBecomesCodeAndText) {
  struct Case {
    int number;
    ErrorCode code;
    const char* what;
  };
  static constexpr Case kCases[] = {
      {ENOENT, ErrorCode::kNotFound, "open /x: No such file or directory"},
      {EACCES, ErrorCode::kDenied, "open /x: Permission denied"},
      {ENOSPC, ErrorCode::kUnavailable, "open /x: No space left on device"},
      {ETIMEDOUT, ErrorCode::kTimeout, "open /x: Connection timed out"},
      {EIO, ErrorCode::kInternal, "open /x: Input/output error"},
  };
  for (const Case& c : kCases) {
    const Error e = fail_errno("open /x", c.number, "hint").value();
    EXPECT_EQ(e.code, c.code) << c.what;
    EXPECT_EQ(e.what, c.what);
    EXPECT_EQ(e.hint, "hint");
  }
}

TEST(CheckDeathTest, NamesTheConditionAndAborts) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const int n = 1;
  GW_CHECK(n == 1);
  EXPECT_DEATH(GW_CHECK(n == 2), "invariant broken: n == 2");
}

}  // namespace
}  // namespace gw::base
