// gangway quota explain, and gangway checkpointed.
#include "cmds/gangway/verbs/quota_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace gw::cmds {
namespace {

using testing::HasSubstr;

TEST(ExplainQuota, WordsAreNamesOrNumbersOfJobs) {
  const auto names = explain_request({"team-a", "cluster"});
  ASSERT_TRUE(names.has_value());
  EXPECT_EQ(names->preemptor(), "team-a");
  EXPECT_EQ(names->from(), "cluster");
  EXPECT_EQ(names->preemptor_job(), 0u);
  const auto jobs = explain_request({"4711", "7b"});
  ASSERT_TRUE(jobs.has_value());
  EXPECT_EQ(jobs->preemptor_job(), 4711u);
  EXPECT_EQ(jobs->preemptor(), "");
  EXPECT_EQ(jobs->from(), "7b") << "not all digits: a QOS";
  EXPECT_THAT(explain_request({"a"}).error().text(), HasSubstr("two names"));
  EXPECT_THAT(explain_request({"a", "b", "c"}).error().text(), HasSubstr("two names"));
  EXPECT_THAT(explain_request({"a", ""}).error().text(), HasSubstr("empty name"));
  EXPECT_THAT(explain_request({"0", "b"}).error().text(), HasSubstr("job id"));
  EXPECT_THAT(explain_request({"4294967296", "b"}).error().text(), HasSubstr("job id"));
}

TEST(ExplainQuota, SaysYesOrNoWithTheRule) {
  wire::ExplainQuotaReply told;
  told.set_may(true);
  told.set_rule(5);
  told.set_gpu_milli(2500);
  told.add_lines("team-a holds 8 gpu, its fair share is 16");
  EXPECT_EQ(explain_text("team-a", "7", told),
            "yes: team-a may take up to 2.5 of gpu from job 7 now (rule 5)\n"
            "  team-a holds 8 gpu, its fair share is 16\n");
  const auto j = nlohmann::json::parse(explain_json("team-a", "7", told));
  EXPECT_EQ(j["schema_version"], 1);
  EXPECT_EQ(j["may"], true);
  EXPECT_EQ(j["rule"], 5);
  EXPECT_EQ(j["gpus"], 2.5);
  told.Clear();
  EXPECT_EQ(explain_text("a", "b", told), "no: a may not take from b now\n");
  EXPECT_TRUE(nlohmann::json::parse(explain_json("a", "b", told))["rule"].is_null());
}

TEST(Checkpointed, TheJobIsNamedOrTheOneThatThisRunsIn) {
  EXPECT_THAT(job_in_question({"7"}, "8", "9")->jobs, testing::ElementsAre(7));
  EXPECT_THAT(job_in_question({}, "8", "9")->jobs, testing::ElementsAre(8));
  EXPECT_THAT(job_in_question({}, nullptr, "9")->jobs, testing::ElementsAre(9));
  EXPECT_THAT(job_in_question({}, "", "9")->jobs, testing::ElementsAre(9));
  EXPECT_EQ(job_in_question({"5_3"}, "8", "9")->tasks.at(5), "3");
  EXPECT_THAT(job_in_question({"5-6"}, "8", "9").error().text(), HasSubstr("one job"));
  EXPECT_THAT(job_in_question({}, nullptr, nullptr).error().text(), HasSubstr("runs in no job"));
  EXPECT_THAT(job_in_question({"7", "8"}, nullptr, nullptr).error().text(), HasSubstr("one job"));
  EXPECT_THAT(job_in_question({""}, "8", nullptr).error().text(), HasSubstr("Invalid job id"));
  EXPECT_THAT(job_in_question({"7x"}, "8", nullptr).error().text(), HasSubstr("Invalid job id 7x"));
}

}  // namespace
}  // namespace gw::cmds
