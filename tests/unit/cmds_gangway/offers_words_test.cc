// What gangway offers prints.
#include "cmds/gangway/verbs/offers_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace gw::cmds {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

wire::ListOffersReply two_offers() {
  wire::ListOffersReply out;
  out.set_qos("team");
  wire::NodeOffer& first = *out.add_offers();
  first.set_id("0123456789abcdef");
  first.set_partition("gpu");
  first.set_nodes("n[1-3]");
  first.set_node_count(3);
  first.set_gpus(8);
  first.set_gpu_type("h100");
  first.set_cpus(96);
  first.set_mem_mb(512 * 1024);
  first.set_until_us(1'800'000'000'000'000);
  wire::NodeOffer& second = *out.add_offers();
  second = first;
  second.set_nodes("n4");
  second.set_gpu_type("\x1b[31mred");
  second.clear_until_us();
  return out;
}

TEST(OffersWords, ALineForEachAndHowMuchTheQosCanHave) {
  wire::ListOffersReply told = two_offers();
  EXPECT_THAT(offers_text(told), AllOf(HasSubstr("0123456789abcdef"), HasSubstr("n[1-3]"), HasSubstr("512"),
                                       Not(HasSubstr("\x1b")), Not(HasSubstr("can have")), Not(HasSubstr("more"))));
  told.mutable_offers(0)->set_longest_us(base::hours(24).us);
  EXPECT_THAT(offers_text(told), HasSubstr("   1-00:00:00  n[1-3]\n")) << "so long a job may run there";
  told.set_guaranteed_milli(12'000);
  told.set_most_milli(24'500);
  told.set_left_out(7);
  EXPECT_THAT(offers_text(told),
              AllOf(HasSubstr("QOS team can have 12 GPUs within its guarantees, 24.5 GPUs within its limits\n"),
                    HasSubstr("and 7 more\n")));
  told.clear_guaranteed_milli();
  EXPECT_THAT(offers_text(told), HasSubstr("QOS team can have 24.5 GPUs within its limits\n"));
}

TEST(OffersWords, JsonIsALineWithASchemaVersion) {
  wire::ListOffersReply told = two_offers();
  told.set_most_milli(1'500);
  const std::string text = offers_json(told);
  EXPECT_EQ(text.find('\n'), text.size() - 1);
  const auto j = nlohmann::json::parse(text);
  EXPECT_EQ(j["schema_version"], 1);
  EXPECT_TRUE(j["gpus_guaranteed"].is_null());
  EXPECT_EQ(j["gpus_most"], 1.5);
  EXPECT_EQ(j["offers"][0]["id"], "0123456789abcdef");
  EXPECT_EQ(j["offers"][0]["memory_mb"], 512 * 1024);
  EXPECT_EQ(j["offers"][0]["until"], 1'800'000'000);
  EXPECT_EQ(j["offers"][1]["until"], 0);
}

}  // namespace
}  // namespace gw::cmds
