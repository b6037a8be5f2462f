// The words of --cpu-bind, --gpu-bind and --mem-bind.
#include "bind/words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gw::bind {
namespace {

using testing::HasSubstr;

template <typename Way>
std::string masks(const base::Result<Words<Way>>& words) {
  if (!words) return "error: " + words.error().text();
  std::string text;
  for (const base::IndexSet& set : words->list) text += (text.empty() ? "" : ",") + mask_text(set);
  return text;
}

TEST(Words, EachWayHasItsWord) {
  const std::pair<const char*, CpuWay> kCpu[] = {
      {"", CpuWay::kAuto},           {"none", CpuWay::kNone},           {"no", CpuWay::kNone},
      {"threads", CpuWay::kThreads}, {"Cores", CpuWay::kCores},         {"sockets", CpuWay::kSockets},
      {"ldoms", CpuWay::kLdoms},     {"rank", CpuWay::kRank},           {"map_cpu:0,1", CpuWay::kMap},
      {"mask_cpu:3", CpuWay::kMask}, {"rank_ldom", CpuWay::kRankLdom},  {"map_ldom:1", CpuWay::kMapLdom},
      {"closest", CpuWay::kCores},   {"mask_ldom:1", CpuWay::kMaskLdom}};
  for (const auto& [text, way] : kCpu) {
    const auto words = parse_cpu(text);
    ASSERT_TRUE(words) << text << words.error().text();
    EXPECT_EQ(words->way, way) << text;
    EXPECT_FALSE(words->says);
  }
  EXPECT_EQ(parse_gpu("single:2")->count, 2u);
  EXPECT_EQ(parse_gpu("per_task:3")->way, GpuWay::kPerTask);
  EXPECT_EQ(parse_gpu("verbose,closest")->way, GpuWay::kClosest);
  EXPECT_EQ(parse_mem("local")->way, MemWay::kLocal);
}

TEST(Words, MannersStandBeforeThem) {
  EXPECT_TRUE(parse_cpu("verbose")->says);
  EXPECT_TRUE(parse_cpu("v,none")->says);
  EXPECT_FALSE(parse_cpu("verbose,quiet,none")->says);
  const auto both = parse_cpu("verbose,map_cpu:4,5");
  EXPECT_TRUE(both->says && both->way == CpuWay::kMap && both->list.size() == 2);
  EXPECT_TRUE(parse_mem("prefer,verbose,map_mem:0")->prefers);
}

TEST(Words, ListsAreWrittenOut) {
  EXPECT_EQ(masks(parse_cpu("map_cpu:0*2,3,0x10")), "0x1,0x1,0x8,0x10000");
  EXPECT_EQ(masks(parse_cpu("mask_cpu:0x3,c*2,0xFFFF0000FFFF0000")), "0x3,0xc,0xc,0xffff0000ffff0000");
  EXPECT_EQ(masks(parse_gpu("map_gpu:1,0")), "0x2,0x1");
  EXPECT_EQ(masks(parse_mem("mask_mem:2")), "0x2");
  EXPECT_EQ(masks(parse_cpu("mask_cpu:0x100000000000000000000")), "0x100000000000000000000");
}

struct Bad {
  const char* text;
  const char* says;
};

TEST(Words, ErrorsNameOptionAndWord) {
  for (const Bad& bad :
       {Bad{"corse", "did you mean \"cores\""}, Bad{"hyper", "mask_cpu:LIST"}, Bad{"map_cpu", "map_cpu needs a list"},
        Bad{"map_cpu:", "needs a list"}, Bad{"map_cpu:1,x", "\"x\" in map_cpu is no index"},
        Bad{"mask_cpu:0x0", "\"0x0\" in mask_cpu is no mask"}, Bad{"mask_cpu:g", "is no mask"},
        Bad{"map_cpu:9000", "is no index"}, Bad{"map_cpu:1*0", "is no index"}, Bad{"map_cpu:1*", "is no index"},
        Bad{"map_cpu:0*4096,1", "too long"}, Bad{"cores:2", "no way of binding"}, Bad{",", "no way of binding"},
        Bad{"verbose,", "no way of binding"}, Bad{"map_cpu:1,,2", "is no index"}}) {
    const auto words = parse_cpu(bad.text);
    ASSERT_FALSE(words) << bad.text;
    EXPECT_THAT(words.error().text(), HasSubstr(bad.says));
    EXPECT_THAT(words.error().text(), HasSubstr("--cpu-bind"));
  }
  EXPECT_THAT(masks(parse_gpu("single:0")), HasSubstr("--gpu-bind: single"));
  EXPECT_THAT(masks(parse_gpu("per_task")), HasSubstr("--gpu-bind: per_task"));
  EXPECT_THAT(masks(parse_gpu("cores")), HasSubstr("per_task:N"));
  EXPECT_THAT(masks(parse_mem("near")), HasSubstr("map_mem:LIST"));
  EXPECT_THAT(masks(parse_cpu("map_cpu:" + std::string(kMaxText, '1'))), HasSubstr("too long"));
}

}  // namespace
}  // namespace gw::bind
