// Locality and fitting in words: read, refused, written back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/request.h"

namespace gw::model {
namespace {

using testing::HasSubstr;

TEST(Locality, LevelsHaveNamesThatParse) {
  for (int i = 0; i < kLocalityCount; ++i) {
    const auto level = static_cast<Locality>(i);
    EXPECT_EQ(*parse_locality_level(name(level)), level);
  }
  EXPECT_EQ(*parse_locality_level("NVLink"), Locality::kNvlink);
  EXPECT_EQ(parse_locality_level("nvlinc").error().hint, "did you mean \"nvlink\"?");
  EXPECT_EQ(parse_locality_level("rack").error().hint, "one of gpu, nvlink, pcie, numa, node, leaf, block, any");
  EXPECT_FALSE(parse_locality_level("").has_value());
}

TEST(Locality, StepsAreReadAndWrittenBack) {
  struct Case {
    const char* text;
    std::vector<LocalityStep> steps;
    const char* written;
  };
  const Case kCases[] = {
      {"leaf", {{Locality::kLeaf, base::kUnlimited}}, "leaf"},
      {"leaf@10m", {{Locality::kLeaf, base::minutes(10)}}, "leaf@00:10:00"},
      {"leaf@10", {{Locality::kLeaf, base::minutes(10)}}, "leaf@00:10:00"},
      {"nvlink@90s,numa@1-0,any",
       {{Locality::kNvlink, base::seconds(90)}, {Locality::kNuma, base::hours(24)}, {Locality::kAny, base::kUnlimited}},
       "nvlink@00:01:30,numa@1-00:00:00,any"},
      {"nvlink,node", {{Locality::kNvlink, {}}, {Locality::kNode, base::kUnlimited}}, "nvlink,node"},
      {"nvlink@0,node@0", {{Locality::kNvlink, {}}, {Locality::kNode, {}}}, "nvlink,node@00:00:00"},
      {"block@unlimited", {{Locality::kBlock, base::kUnlimited}}, "block"},
  };
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.text);
    const auto steps = parse_locality(c.text);
    ASSERT_TRUE(steps.has_value()) << steps.error().text();
    EXPECT_EQ(*steps, c.steps);
    EXPECT_EQ(format_locality(*steps), c.written);
    EXPECT_EQ(*parse_locality(c.written), c.steps);
  }
  EXPECT_EQ(format_locality({}), "");
}

TEST(Locality, BadStepsAreRefused) {
  const std::pair<const char*, const char*> kCases[] = {
      {"", "no level of locality"},
      {",", "is not a level"},
      {"leaf,", "\"\" is not a level"},
      {"leaff@5m", "did you mean \"leaf\"?"},
      {"leaf@", "a waiting time is missing"},
      {"leaf@soon", "is not a duration"},
      {"leaf@5m@6m", "is not a duration"},
      {"leaf,node", "level node is not wider than leaf"},
      {"leaf,leaf", "level leaf is not wider than leaf"},
      {"leaf@unlimited,any", "waits for ever"},
  };
  for (const auto& [text, says] : kCases) {
    SCOPED_TRACE(text);
    const auto steps = parse_locality(text);
    ASSERT_FALSE(steps.has_value());
    EXPECT_THAT(steps.error().text(), HasSubstr(says));
  }
}

TEST(Fit, HasNamesThatParse) {
  for (Fit fit : {Fit::kDefault, Fit::kBest, Fit::kWorst, Fit::kSpread}) EXPECT_EQ(*parse_fit(name(fit)), fit);
  EXPECT_EQ(parse_fit("spred").error().hint, "did you mean \"spread\"?");
}

}  // namespace
}  // namespace gw::model
