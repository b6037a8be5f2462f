// Amounts as people write them, and the faults of a tree of quotas.
#include "model/qos.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gw::model {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Qos qos(const std::string& name, const std::string& parent = {}, const Amounts& guaranteed = {}) {
  Qos q;
  q.name = name;
  q.parent = parent;
  q.guaranteed = guaranteed;
  return q;
}

TEST(Amounts, AreReadAndWrittenAlike) {
  struct Case {
    const char* resource;
    const char* text;
    uint64_t amount;
    const char* shown;
  };
  const Case cases[] = {{"gpu", "16", 16'000, "16"},
                        {"gpu", "2.5", 2'500, "2.5"},
                        {"gpu:h100", "0.125", 125, "0.125"},
                        {"gpu", "0", 0, "0"},
                        {"cpu", "64", 64, "64"},
                        {"node", "7", 7, "7"},
                        {"mem", "512G", 512 * 1024, "512G"},
                        {"mem", "50012G", 50'012 * 1024, "50012G"},
                        {"mem", "1000001", 1'000'001, "1000001M"}};
  for (const Case& c : cases) {
    const auto amount = parse_amount(c.resource, c.text);
    ASSERT_TRUE(amount) << c.text;
    EXPECT_EQ(*amount, c.amount) << c.text;
    EXPECT_EQ(format_amount(c.resource, *amount), c.shown);
  }
  EXPECT_EQ(format_amounts({{"gpu", 1'500}, {"cpu", 4}}), "cpu:4,gpu:1.5");
}

TEST(Amounts, NonsenseIsRefused) {
  for (const char* text : {"-1", "x", "", "1.2345", "1.", "99999999999999999999", "1e3"})
    EXPECT_FALSE(parse_amount("gpu", text)) << text;
  EXPECT_FALSE(parse_amount("cpu", "1.5"));
  EXPECT_FALSE(parse_amount("mem", "lots"));
  EXPECT_FALSE(parse_resource("gpu:a\r"));
}

TEST(Resources, AreNamedLikeThis) {
  EXPECT_EQ(*parse_resource("GPU:H100"), "gpu:h100");
  EXPECT_EQ(*parse_resource("gres/gpu"), "gpu");
  EXPECT_EQ(*parse_resource("mem"), "mem");
  EXPECT_THAT(parse_resource("gpus").error().hint, HasSubstr("gpu"));
  EXPECT_FALSE(parse_resource("gpu:"));
}

TEST(Reclaim, IsReadByName) {
  for (const Reclaim r : {Reclaim::kNone, Reclaim::kGuaranteed, Reclaim::kFairShare})
    EXPECT_EQ(*parse_reclaim(name(r)), r);
  EXPECT_THAT(parse_reclaim("fair-share").error().hint, HasSubstr("fair_share"));
}

TEST(Tree, FaultsAreTold) {
  const auto fault = [](const std::vector<Qos>& tree) { return check_qos_tree(tree)->error.what; };
  EXPECT_FALSE(check_qos_tree({qos("a"), qos("b", "a")}));
  EXPECT_THAT(fault({qos("a", "b")}), HasSubstr("no QOS b to be its parent"));
  EXPECT_EQ(check_qos_tree({qos("team-b", "team-x"), qos("other")})->error.hint, "") << "itself is not meant";
  EXPECT_EQ(check_qos_tree({qos("b", "teem"), qos("team")})->error.hint, "did you mean \"team\"?");
  EXPECT_THAT(fault({qos("a", "b"), qos("b", "a")}), HasSubstr("is below itself"));
  EXPECT_THAT(fault({qos("a", "a")}), HasSubstr("QOS a is below itself"));
  EXPECT_THAT(fault({qos("a"), qos("a")}), HasSubstr("QOS a is there twice"));
  EXPECT_THAT(fault({qos("cluster")}), HasSubstr("is implied"));
  std::vector<Qos> deep = {qos("q0")};
  for (int i = 1; i < 40; ++i) deep.push_back(qos("q" + std::to_string(i), "q" + std::to_string(i - 1)));
  EXPECT_THAT(fault(deep), HasSubstr("more than 32 levels"));
}

TEST(Tree, ChildrenAboveTheirParentAreTold) {
  const std::vector<Qos> tree = {qos("p", "", {{"gpu", 8'000}}), qos("a", "p", {{"gpu", 6'000}}),
                                 qos("b", "p", {{"gpu", 2'500}})};
  EXPECT_EQ(check_guarantees(tree, {})->error.what,
            "the guarantees below QOS p add up to 8.5 gpu, but it has 8: a 6, b 2.5");
  EXPECT_EQ(check_guarantees({qos("a", "", {{"gpu", 9'000}})}, {{"gpu", 8'000}})->error.what,
            "the guarantees below cluster add up to 9 gpu, but it has 8: a 9");
  EXPECT_FALSE(check_guarantees({qos("a", "", {{"gpu", 8'000}})}, {{"gpu", 8'000}}));
}

TEST(Tree, WhatAParentDoesNotNameItHasNone) {
  // `gpu` always has a line, and cpu has one in q because it is named above it; mem has none above r.
  EXPECT_TRUE(check_guarantees({qos("p"), qos("a", "p", {{"gpu", 1'000}})}, {}));
  EXPECT_TRUE(check_guarantees({qos("p", "", {{"cpu", 8}}), qos("q", "p"), qos("r", "q", {{"cpu", 1}})}, {}));
  EXPECT_FALSE(check_guarantees({qos("p"), qos("a", "p", {{"mem", 1'000}})}, {}));
}

TEST(Tree, TypesAloneAddUpToGpus) {
  const Qos types = qos("a", "p", {{"gpu:h100", 6'000}, {"gpu:a100", 1'000}});
  EXPECT_TRUE(names_types_alone(types));
  EXPECT_EQ(guarantees_of(types).at("gpu"), 7'000U);
  const Qos both = qos("a", "p", {{"gpu:h100", 6'000}, {"gpu", 8'000}});
  EXPECT_FALSE(names_types_alone(both));
  EXPECT_EQ(guarantees_of(both).at("gpu"), 8'000U);
  EXPECT_FALSE(names_types_alone(qos("c", "p", {{"cpu", 8}})));
  EXPECT_EQ(guarantees_of(qos("c", "p", {{"cpu", 8}})).count("gpu"), 0U);
  EXPECT_FALSE(check_guarantees({qos("p", "", {{"gpu", 7'000}}), types}, {}));
  EXPECT_EQ(check_guarantees({qos("p", "", {{"gpu", 6'000}}), types}, {})->error.what,
            "the guarantees below QOS p add up to 7 gpu, but it has 6: a 7");
}

TEST(Tree, WhatMayNotBeMeantSoIsTold) {
  const auto doubts = [](const std::vector<Qos>& tree) {
    std::vector<std::string> out;
    for (const QosFault& fault : doubtful_guarantees(tree)) out.push_back(fault.error.what);
    return out;
  };
  EXPECT_THAT(
      doubts({qos("p", "", {{"gpu", 8'000}, {"cpu", 8}}), qos("a", "p", {{"gpu", 6'000}}), qos("b", "p")}),
      ElementsAre("QOS a is guaranteed no cpu, QOS p above it is: a job of it that asks for cpu is never within "
                  "its guarantee"));
  EXPECT_THAT(
      doubts({qos("a", "", {{"gpu:h100", 8'000}}), qos("b", "", {{"gpu", 2'500}}), qos("c", "", {{"node", 1}})}),
      ElementsAre("QOS b: gpu: 2.5 promises so many GPUs of whatever type, and none of a certain one, while other "
                  "QOS are guaranteed types"));
  EXPECT_THAT(doubts({qos("p", "", {{"gpu", 8'000}}), qos("a", "p", {{"gpu:h100", 6'000}})}),
              ElementsAre(HasSubstr("QOS p: gpu: 8")));
  EXPECT_THAT(doubts({qos("p", "", {{"gpu", 8'000}}), qos("a", "p", {{"gpu", 6'000}})}), ElementsAre());
}

TEST(Tree, CoresBesideGuaranteedGpusAreToldOf) {
  const auto doubts = [](const std::vector<Qos>& tree) {
    std::vector<std::string> out;
    for (const QosFault& fault : doubtful_guarantees(tree)) out.push_back(fault.error.what);
    return out;
  };
  const Qos gpus = qos("a", "", {{"gpu", 8'000}}), cores = qos("b", "", {{"cpu", 64}});
  EXPECT_THAT(
      doubts({gpus, cores}),
      ElementsAre("QOS b: cpu: 64 may hold what belongs to the GPUs that QOS a is guaranteed, which gets no cpu "
                  "back from it: both hold only where nodes have so much beside those GPUs"));
  EXPECT_THAT(doubts({qos("a", "", {{"gpu:h100", 8'000}}), qos("b", "", {{"mem", 64}})}),
              ElementsAre(HasSubstr("QOS b: mem: ")));
  EXPECT_THAT(doubts({qos("a", "", {{"gpu", 8'000}, {"cpu", 64}}), cores}), ElementsAre());  // it has a line of its own
  EXPECT_THAT(doubts({gpus, qos("b", "", {{"cpu", 64}, {"gpu", 1'000}})}), ElementsAre());
  EXPECT_THAT(doubts({qos("p", "", {{"gpu", 8'000}}), qos("a", "p", {{"cpu", 64}, {"gpu", 0}})}), ElementsAre());
}

TEST(Budget, IsReadAsItIsWritten) {
  for (const char* text : {"5000gpuh/month", "0.5gpuh/day", "0.01gpuh/week", "1gpumin/quarter", "7gpus/year",
                           "12.25gpuh/total", "277777777gpuh/year", "5000gpuh/month:borrow"}) {
    const auto budget = parse_gpu_budget(text);
    ASSERT_TRUE(budget) << text;
    EXPECT_EQ(format_gpu_budget(*budget), text);
  }
  EXPECT_EQ(*parse_gpu_budget("60gpumin/Day:Refuse"), (GpuBudget{3600, base::Period::kDay, false}));
  EXPECT_EQ(format_gpu_budget(*parse_gpu_budget("60GPUmin/day")), "1gpuh/day");
  EXPECT_EQ(words(*parse_gpu_budget("1.5gpuh/week")), "1.5 GPU-hours a week");
  EXPECT_EQ(words(*parse_gpu_budget("90gpumin/total")), "1.5 GPU-hours in all");
}

TEST(Budget, BadOnesAreRefused) {
  for (const char* text : {"", "5000", "5000gpuh", "5000/month", "gpuh/month", "5 gpuh/month", "5000gpuh/month:later",
                           "infgpuh/month", "nangpuh/month", "1e3gpuh/month"})
    EXPECT_THAT(parse_gpu_budget(text).error().what, HasSubstr("is no budget of GPU-hours")) << text;
  EXPECT_EQ(parse_gpu_budget("5gpuh/fortnight").error().what, "no period \"fortnight\"");
  for (const char* text : {"0gpuh/month", "-5gpuh/month", "0.0001gpus/day", "277777778gpuh/year"})
    EXPECT_THAT(parse_gpu_budget(text).error().what, HasSubstr("out of range")) << text;
}

}  // namespace
}  // namespace gw::model
