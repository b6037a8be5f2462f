// galloc --from-offer: the options that an offer stands for.
#include "cmds/galloc/offer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gw::cmds {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr base::Time kThen{1'000'000'000'000};

wire::ListOffersReply told(int64_t minutes = 0, uint32_t gpus = 8) {
  wire::ListOffersReply out;
  out.set_qos("team");
  out.set_now_us(kThen.us);
  wire::NodeOffer& offer = *out.add_offers();
  offer.set_id("abc");
  offer.set_partition("gpu");
  offer.set_nodes("n[1-3]");
  offer.set_node_count(3);
  offer.set_gpus(gpus);
  offer.set_gpu_type(gpus > 0 ? "h100" : "");
  offer.set_cpus(96);
  if (minutes > 0) offer.set_until_us((kThen + base::minutes(minutes)).us);
  return out;
}

/// With these words on the command line.
struct Given {
  AllocOptions o;
  client::CommonFlags flags;
  base::Result<std::vector<std::string>> words = std::vector<std::string>();

  explicit Given(std::vector<std::string> args, const wire::ListOffersReply& reply = told()) {
    args.emplace_back("--from-offer=abc");
    const auto table = alloc_table(o, flags, kThen);
    const auto read = client::parse_options(table, args, {.stop_at_operand = true});
    EXPECT_TRUE(read) << read.error().text();
    words = words_of_offer(o, reply);
    if (words) EXPECT_TRUE(client::parse_options(table, *words)) << "they can be read behind what was said";
  }
  std::string error() const { return words ? "" : words.error().text(); }
};

TEST(FromOffer, WithNothingElseItIsAllOfIt) {
  EXPECT_THAT(*Given({}).words, ElementsAre("--partition=gpu", "--qos=team", "--nodelist=n[1-3]", "--nodes=3",
                                            "--gpus-per-node=h100:8", "--immediate"));
  const Given timed({}, told(90));
  EXPECT_THAT(*timed.words, ElementsAre("--partition=gpu", "--qos=team", "--nodelist=n[1-3]", "--nodes=3",
                                        "--gpus-per-node=h100:8", "--time=89", "--immediate"));
  EXPECT_EQ(timed.o.job.spec.time_limit, base::minutes(89));
  wire::ListOffersReply brief = told(90);
  brief.mutable_offers(0)->set_longest_us(base::hours(1).us);
  EXPECT_EQ(Given({}, brief).o.job.spec.time_limit, base::hours(1)) << "as long as jobs of the QOS may run";
  EXPECT_THAT(*Given({}, told(0, 0)).words,
              ElementsAre("--partition=gpu", "--qos=team", "--nodelist=n[1-3]", "--nodes=3", "--ntasks-per-node=1",
                          "--cpus-per-task=96", "--immediate"));
}

TEST(FromOffer, WhatIsSaidCountsWhereItIsLess) {
  EXPECT_THAT(*Given({"-N2", "--gpus-per-node=4", "--time=30", "--immediate=5"}, told(90)).words,
              ElementsAre("--partition=gpu", "--qos=team", "--nodelist=n[1-2]", "--nodes=2"));
  EXPECT_THAT(*Given({"-G3"}).words,
              ElementsAre("--partition=gpu", "--qos=team", "--nodelist=n[1-3]", "--nodes=3", "--immediate"));
  for (const char* word : {"-n6", "-c4"})
    EXPECT_THAT(*Given({word}, told(0, 0)).words,
                ElementsAre("--partition=gpu", "--qos=team", "--nodelist=n[1-3]", "--nodes=3", "--immediate"));
}

TEST(FromOffer, FewTasksNeedFewNodes) {
  EXPECT_THAT(*Given({"-n2"}).words, ElementsAre("--partition=gpu", "--qos=team", "--nodelist=n[1-2]", "--nodes=2",
                                                 "--gpus-per-node=h100:8", "--immediate"));
}

TEST(FromOffer, FewGpusNeedFewNodes) {
  EXPECT_THAT(*Given({"-G1"}).words,
              ElementsAre("--partition=gpu", "--qos=team", "--nodelist=n1", "--nodes=1", "--immediate"));
}

TEST(FromOffer, MoreThanItHasAndWhatItSaysItselfIsRefused) {
  EXPECT_THAT(Given({"-N4"}).error(), HasSubstr("4 nodes, where offer abc has 3"));
  EXPECT_THAT(Given({"-t120"}, told(90)).error(), HasSubstr("longer than offer abc lasts"));
  EXPECT_THAT(Given({}, told(1)).error(), HasSubstr("ends within two minutes"));
  EXPECT_THAT(Given({"-p", "cpu"}).error(), HasSubstr("says partition and nodes itself"));
  EXPECT_THAT(Given({"-w", "n1"}).error(), HasSubstr("says partition and nodes itself"));
  wire::ListOffersReply other = told();
  other.mutable_offers(0)->set_id("abd");
  EXPECT_THAT(Given({}, other).error(), HasSubstr("there is no offer abc now"));
}

}  // namespace
}  // namespace gw::cmds
