// Text helpers: splitting, numbers with their errors, memory sizes.
#include "base/text.h"

#include <gtest/gtest.h>

namespace gw::base {
namespace {

using Words = std::vector<std::string>;

TEST(Text, Splits) {
  EXPECT_EQ(split("", ','), Words{});
  EXPECT_EQ(split("a", ','), Words{"a"});
  EXPECT_EQ(split("a,,b", ','), (Words{"a", "", "b"}));
  EXPECT_EQ(split(",", ','), (Words{"", ""}));
}

TEST(Text, TrimsJoinsAndFoldsCase) {
  EXPECT_EQ(trim(" \t a b\r\n"), "a b");
  EXPECT_EQ(trim("  "), "");
  EXPECT_EQ(join(Words{"a", "b"}, ", "), "a, b");
  EXPECT_EQ(join(Words{}, ", "), "");
  EXPECT_EQ(to_lower("GPU-h100"), "gpu-h100");
  EXPECT_TRUE(iequals("Idle", "IDLE"));
  EXPECT_FALSE(iequals("idle", "idle "));
}

TEST(Text, DropsDuplicatesAndTheirRoom) {
  std::vector<std::string> names = {"b", "a", "b", "c", "a"};
  drop_duplicates(names);
  EXPECT_EQ(names, (std::vector<std::string>{"b", "a", "c"}));
  names.assign(10'000, "n");
  drop_duplicates(names);
  EXPECT_EQ(names.size(), 1U);
  EXPECT_LT(names.capacity(), 100U);
}

TEST(Text, ParsesWholeNumbersInRange) {
  struct Case {
    const char* text;
    int64_t min, max;
    const char* expected;
  };
  static constexpr Case kCases[] = {
      {"1", 1, 10, "1"},
      {"-3", -5, 5, "-3"},
      {"007", 0, 10, "7"},
      {"9223372036854775807", 0, INT64_MAX, "9223372036854775807"},
      {"0", 1, 10, "-N: 0 is out of range (1 to 10)"},
      {"11", 1, 10, "-N: 11 is out of range (1 to 10)"},
      {"0", 1, INT64_MAX, "-N: 0 is out of range (at least 1)"},
      {"99999999999999999999", 1, 10, "-N: 99999999999999999999 is out of range (1 to 10)"},
      {"", 1, 10, "-N: \"\" is not a whole number"},
      {"abc", 1, 10, "-N: \"abc\" is not a whole number"},
      {"1x", 1, 10, "-N: \"1x\" is not a whole number"},
      {"1.5", 1, 10, "-N: \"1.5\" is not a whole number"},
      {" 1", 1, 10, "-N: \" 1\" is not a whole number"},
      {"0x10", 0, 99, "-N: \"0x10\" is not a whole number"},
  };
  for (const Case& c : kCases) {
    const auto value = parse_int(c.text, c.min, c.max, "-N");
    EXPECT_EQ(value ? std::to_string(*value) : value.error().what, c.expected) << c.text;
  }
}

TEST(Text, ParsesMemory) {
  struct Case {
    const char* text;
    int64_t mb;  // -1: refused
  };
  static constexpr Case kCases[] = {
      {"0", 0},
      {"512", 512},
      {"512M", 512},
      {"1G", 1024},
      {"2g", 2048},
      {"1T", 1048576},
      {"1K", 1},
      {"1024K", 1},
      {"1025K", 2},
      {"1.5G", 1536},
      {".5G", 512},
      {"1.G", 1024},
      {"16GB", 16384},
      {"16GiB", 16384},
      {"1.1M", 2},
      {"", -1},
      {"G", -1},
      {".", -1},
      {"-1", -1},
      {"1X", -1},
      {"1 G", -1},
      {"1.2.3G", -1},
      {"99999999999T", -1},
      {"99999999999999999999999", -1},
      {"1e3", -1},
      {"1073741825T", -1},
      {"1GX", -1},
  };
  for (const Case& c : kCases) {
    const auto mb = parse_memory_mb(c.text);
    EXPECT_EQ(mb ? static_cast<int64_t>(*mb) : -1, c.mb) << c.text;
  }
  EXPECT_EQ(parse_memory_mb("3", 'G').value(), 3072u);
  EXPECT_EQ(parse_memory_mb("3M", 'G').value(), 3u);
}

TEST(Text, FormatsMemory) {
  EXPECT_EQ(format_memory_mb(0), "0M");
  EXPECT_EQ(format_memory_mb(512), "512M");
  EXPECT_EQ(format_memory_mb(1024), "1G");
  EXPECT_EQ(format_memory_mb(1536), "1.50G");
  EXPECT_EQ(format_memory_mb(2 * 1024 * 1024), "2T");
}

}  // namespace
}  // namespace gw::base
