// Host lists: what they expand and compress to, and the errors of malformed and oversized ones.
#include "base/hostlist.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace gw::base {
namespace {

TEST(Hostlist, Expands) {
  struct Case {
    const char* text;
    const char* names;
  };
  static constexpr Case kCases[] = {
      {"", ""},
      {"n1", "n1"},
      {"login", "login"},
      {"n1,n2", "n1 n2"},
      {"n[1-3]", "n1 n2 n3"},
      {"n[001-003,007],x1", "n001 n002 n003 n007 x1"},
      {"n[8-11]", "n8 n9 n10 n11"},
      {"n[08-11]", "n08 n09 n10 n11"},
      {"n[98-101]", "n98 n99 n100 n101"},
      {"n[1,1]", "n1 n1"},
      {"r[1-2]n[1-2]", "r1n1 r1n2 r2n1 r2n2"},
      {"n[1-2]-ib", "n1-ib n2-ib"},
      {"[1-2]", "1 2"},
      {"a.b_c-[3]", "a.b_c-3"},
      {"n[0]", "n0"},
  };
  for (const Case& c : kCases) {
    const auto names = expand_hostlist(c.text);
    ASSERT_TRUE(names) << c.text << ": " << names.error().text();
    EXPECT_EQ(join(*names, " "), c.names) << c.text;
  }
}

TEST(Hostlist, HasTheOrderOfSlurmWhereItIsAskedFor) {
  const std::string racks = "r[1-2]c[1-2]n[1-2]";
  EXPECT_EQ(join(*expand_hostlist(racks), " "), "r1c1n1 r1c1n2 r1c2n1 r1c2n2 r2c1n1 r2c1n2 r2c2n1 r2c2n2")
      << "neighbours stay neighbours";
  EXPECT_EQ(join(*expand_hostlist_as_slurm(racks), " "), "r1c1n1 r1c1n2 r2c1n1 r2c1n2 r1c2n1 r1c2n2 r2c2n1 r2c2n2");
  EXPECT_EQ(join(*expand_hostlist_as_slurm("r[1-2]n[1-2]"), " "), "r1n1 r1n2 r2n1 r2n2");
}

TEST(Hostlist, RefusesWithThePlace) {
  struct Case {
    const char* text;
    const char* part;
  };
  static constexpr Case kCases[] = {
      {"n[1-", "bracket is not closed at character 2"},    {"n[", "bracket is not closed at character 2"},
      {"n[1,2", "bracket is not closed at character 2"},   {"n[]", "a number is missing at character 3"},
      {"n[1-]", "a number is missing at character 5"},     {"n[,1]", "a number is missing at character 3"},
      {"n[3-1]", "runs backward at character 3"},          {"n[1;2]", "unexpected \";\" in a bracket at character 4"},
      {"n1,,n2", "a host name is missing at character 4"}, {"n1,", "a host name is missing at character 4"},
      {",", "a host name is missing at character 1"},      {"n1]", "unexpected \"]\" at character 3"},
      {"n 1", "unexpected \" \" at character 2"},          {"n\x01", "unexpected \"\\x01\" at character 2"},
      {"n[1-999999999]", "more than 200000 hosts"},        {"n[0-999][0-999]", "more than 200000 hosts"},
      {"n[0-199999],x", "more than 200000 hosts"},         {"n[1-99999999999999999999]", "a number is too long"},
  };
  for (const Case& c : kCases) {
    const auto names = expand_hostlist(c.text);
    ASSERT_FALSE(names) << c.text;
    EXPECT_NE(names.error().what.find(c.part), std::string::npos) << c.text << ": " << names.error().what;
    EXPECT_EQ(names.error().code, ErrorCode::kInvalid);
  }
}

TEST(Hostlist, RefusesLongNamesBeforeMakingThem) {
  EXPECT_FALSE(expand_hostlist(std::string(100'000, 'a') + "[1-200000]"));
  std::string brackets = "n";
  for (int i = 0; i < 10'000; ++i) brackets += "[1]";
  EXPECT_FALSE(expand_hostlist(brackets));
}

TEST(Hostlist, KeepsTheCallersLimit) {
  EXPECT_TRUE(expand_hostlist("n[1-4]", 4));
  EXPECT_FALSE(expand_hostlist("n[1-5]", 4));
  EXPECT_FALSE(expand_hostlist("n[1-2],x[1-3]", 4));
}

TEST(Hostlist, Compresses) {
  struct Case {
    std::vector<std::string> names;
    const char* text;
  };
  const Case cases[] = {
      {{}, ""},
      {{"n1"}, "n1"},
      {{"login"}, "login"},
      {{"n1", "n2"}, "n[1-2]"},
      {{"n001", "n002", "n004"}, "n[001-002,004]"},
      {{"n1", "n3"}, "n[1,3]"},
      {{"n9", "n10", "n11"}, "n[9-11]"},
      {{"n09", "n10"}, "n[09-10]"},
      {{"n9", "n010"}, "n[9,010]"},
      {{"n2", "n1"}, "n[2,1]"},
      {{"n1", "n1"}, "n[1,1]"},
      {{"n1", "x1", "n2"}, "n1,x1,n2"},
      {{"a", "a1", "a2", "b"}, "a,a[1-2],b"},
      {{"n1-ib", "n2-ib"}, "n1-ib,n2-ib"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(compress_hostlist(c.names), c.text);
    EXPECT_EQ(expand_hostlist(c.text).value(), c.names) << c.text;
  }
}

TEST(Hostlist, SortsByPrefixThenNumber) {
  std::vector<std::string> names{"n10", "n2", "m3", "n2", "n1", "n", "n02", "n1-ib", "r2n1", "r1n10", "r1n9"};
  sort_hostlist(names);
  EXPECT_EQ(join(names, " "), "m3 n n1 n1-ib n02 n2 n10 r1n9 r1n10 r2n1");
}

TEST(Hostlist, OrderIsStrict) {
  EXPECT_TRUE(host_less("n2", "n10"));
  EXPECT_FALSE(host_less("n10", "n2"));
  EXPECT_FALSE(host_less("n2", "n2"));
  EXPECT_NE(host_less("n02", "n2"), host_less("n2", "n02"));
  EXPECT_TRUE(host_less("n", "n1"));
  EXPECT_TRUE(host_less("n00", "n1"));
}

TEST(Hostlist, CompressesCounts) {
  EXPECT_EQ(compress_counts({}), "");
  EXPECT_EQ(compress_counts({3}), "3");
  EXPECT_EQ(compress_counts({4, 4, 3}), "4(x2),3");
  EXPECT_EQ(compress_counts({1, 2, 1, 1, 1}), "1,2,1(x3)");
}

}  // namespace
}  // namespace gw::base
