// The submission program: what it is told, and what its answers may do.
#include "ctld/gscriptd/submit_call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "wire/convert.h"

namespace gw::ctld {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Json = nlohmann::json;

wire::ScriptSubmit a_submission(size_t components = 1) {
  wire::ScriptSubmit submit;
  submit.set_user("ann");
  submit.set_uid(1000);
  submit.set_group("users");
  submit.set_gid(100);
  submit.add_groups("users");
  submit.add_groups("gpu");
  submit.set_script("#!/bin/sh\ntrue\n");
  submit.set_script_is_whole(true);
  model::JobSpec spec;
  spec.name = "train";
  spec.qos = "normal";
  spec.partitions = {"main"};
  spec.time_limit = base::hours(2);
  spec.request.gpu_counting = model::GpuCounting::kPerNode;
  spec.request.gpus = 4;
  for (size_t i = 0; i < components; ++i) *submit.add_jobs() = wire::to_wire(spec);
  return submit;
}

config::Config a_config() {
  config::Config config;
  config.cluster = "c";
  config.submit_program = "/etc/gangway/submit";
  return config;
}

base::Result<wire::ScriptVerdict> verdict(const std::string& answer, int code = 0, size_t components = 1) {
  return read_verdict(a_submission(components), {code, answer});
}
/// The job after an answer that was understood.
model::JobSpec job_after(const std::string& answer) {
  const auto v = verdict(answer);
  EXPECT_TRUE(v) << v.error().text();
  return v && v->jobs_size() == 1 ? *wire::from_wire(v->jobs(0)) : model::JobSpec();
}
std::string complaint(const std::string& answer, int code = 0) {
  const auto v = verdict(answer, code);
  return v ? "" : v.error().text();
}

TEST(SubmitCall, TellsWhoSubmitsWhat) {
  const auto call = submit_call(a_submission(2), a_config());
  ASSERT_TRUE(call);
  EXPECT_EQ(call->program, "/etc/gangway/submit");
  EXPECT_EQ(call->limit, base::seconds(10));
  const Json input = Json::parse(call->input);
  EXPECT_EQ(input["schema_version"], 1);
  EXPECT_EQ(input["cluster"], "c");
  EXPECT_EQ(input["user_name"], "ann");
  EXPECT_EQ(input["user_id"], 1000);
  EXPECT_THAT(input["groups"], ElementsAre("users", "gpu"));
  ASSERT_EQ(input["jobs"].size(), 2u);
  EXPECT_EQ(input["jobs"][0]["name"], "train");
  EXPECT_EQ(input["jobs"][0]["time_limit"], 7200);
  EXPECT_EQ(input["jobs"][0]["request"]["gpus"], 4);
  EXPECT_EQ(input["array_tasks"], nullptr);
  EXPECT_EQ(input["script"], "#!/bin/sh\ntrue\n");
  EXPECT_EQ(input["script_is_whole"], true);
}

TEST(SubmitCall, BytesThatAreNoTextSpoilNothing) {
  wire::ScriptSubmit submit = a_submission();
  submit.mutable_jobs(0)->set_name("\xff\xfe");
  submit.set_script("#!/bin/sh\n\xc3");
  const auto call = submit_call(submit, a_config());
  ASSERT_TRUE(call);
  EXPECT_TRUE(Json::accept(call->input));
}

TEST(SubmitCall, WithoutAProgramThereIsNone) { EXPECT_FALSE(submit_call(a_submission(), config::Config())); }

TEST(SubmitAnswer, NothingChangesNothing) {
  for (const char* answer : {"", "\n", "{}", "{}\n"}) {
    const auto v = verdict(answer);
    ASSERT_TRUE(v) << answer;
    EXPECT_EQ(v->jobs_size(), 0);
    EXPECT_EQ(v->refusal(), "");
  }
}

TEST(SubmitAnswer, Refuses) {
  EXPECT_EQ(verdict(R"({"refuse": "ask for fewer GPUs"})")->refusal(), "ask for fewer GPUs");
  EXPECT_EQ(verdict(R"({"refuse": ""})")->refusal(), "it is not allowed here");
  EXPECT_EQ(verdict(R"({"refuse": "a\u001b[2Jb"})")->refusal().find('\x1b'), std::string::npos);
}

TEST(SubmitAnswer, TellsTheUser) {
  EXPECT_EQ(verdict(R"({"tell": "on the slow nodes"})")->tell(), "on the slow nodes");
}

TEST(SubmitAnswer, SetsWhatItNamesAndNothingElse) {
  model::JobSpec expected = *wire::from_wire(a_submission().jobs(0));
  expected.qos = "low";
  expected.partitions = {"a", "b"};
  expected.time_limit = base::minutes(30);
  expected.comment = "by the site";
  expected.requeue = !expected.requeue;
  expected.nice = 50;
  expected.request.exclude = {"n1", "n2"};
  expected.request.gpu_type = "h100";
  expected.request.mem_per_gpu_mb = 1000;
  expected.request.features = {{"ib", "nvlink"}};
  EXPECT_EQ(job_after(R"({"set": {"qos": "low", "partitions": "a,b", "time_limit": 1800, "comment": "by the site",
                          "requeue": )" +
                      std::string(expected.requeue ? "true" : "false") +
                      R"(, "nice": 50, "features": "ib&nvlink",
                          "request": {"exclude": "n[1-2]", "gpu_type": "h100", "memory_per_gpu_mb": 1000}}})"),
            expected);
  EXPECT_EQ(job_after(R"({"set": {"partitions": ["x"], "time_limit": "UNLIMITED"}})").time_limit, base::kUnlimited);
  EXPECT_EQ(job_after(R"({"set": {"time_limit": null}})").time_limit, base::Duration{}) << "as if it were not given";
  EXPECT_TRUE(job_after(R"({"set": {"hold": true}})").hold_user);
}

TEST(SubmitAnswer, OneWayToSayHowMuchMemoryTakesThePlaceOfTheOthers) {
  wire::ScriptSubmit submit = a_submission();
  submit.mutable_jobs(0)->mutable_request()->set_mem_all(true);
  EXPECT_EQ(Json::parse(submit_call(submit, a_config())->input)["jobs"][0]["request"]["memory_all"], true);
  const auto v = read_verdict(submit, {0, R"({"set": {"request": {"memory_per_cpu_mb": 100}}})"});
  ASSERT_TRUE(v);
  EXPECT_FALSE(v->jobs(0).request().mem_all());
  EXPECT_EQ(v->jobs(0).request().mem_per_cpu_mb(), 100u);
}

TEST(SubmitCall, WhatIsTooLongIsTheUsersToShorten) {
  wire::ScriptSubmit submit = a_submission();
  submit.mutable_jobs(0)->set_comment(std::string(200'000, '\x01'));  // six characters each
  const auto call = submit_call(submit, a_config());
  ASSERT_FALSE(call);
  EXPECT_EQ(call.error().code, base::ErrorCode::kInvalid);
}

TEST(SubmitAnswer, HoldsForEveryComponent) {
  const auto v = verdict(R"({"set": {"qos": "low"}})", 0, 3);
  ASSERT_TRUE(v);
  ASSERT_EQ(v->jobs_size(), 3);
  for (const wire::JobSpec& job : v->jobs()) EXPECT_EQ(job.qos(), "low");
}

TEST(SubmitAnswer, WhatNobodyUnderstandsIsSaid) {
  EXPECT_THAT(complaint("no"), HasSubstr("it printed no JSON object: no"));
  EXPECT_THAT(complaint("[]"), HasSubstr("no JSON object"));
  EXPECT_THAT(complaint(R"({"refuze": "x"})"), HasSubstr("the key \"refuze\": there are refuse, set and tell"));
  EXPECT_THAT(complaint(R"({"set": 1})"), HasSubstr("\"set\" wants an object"));
  EXPECT_THAT(complaint(R"({"set": {"colour": 1}})"), HasSubstr("\"colour\" of a job cannot be set"));
  EXPECT_THAT(complaint(R"({"set": {"user_id": 0}})"), HasSubstr("\"user_id\" of a job cannot be set"));
  EXPECT_THAT(complaint(R"({"set": {"qos": 1}})"), HasSubstr("\"qos\" wants a text"));
  EXPECT_THAT(complaint(R"({"set": {"nice": "x"}})"), HasSubstr("\"nice\" wants a whole number"));
  for (const char* nice : {"4294967396", "-4294967396", "18446744073709551615", "1.5"})
    EXPECT_THAT(complaint(R"({"set": {"nice": )" + std::string(nice) + "}}"), HasSubstr("wants a whole number"))
        << nice;
  EXPECT_THAT(complaint(R"({"set": {"time_limit": 18446744073709551615}})"), HasSubstr("\"time_limit\" wants seconds"));
  EXPECT_THAT(complaint(R"({"set": {"time_limit": -1}})"), HasSubstr("\"time_limit\" wants seconds"));
  EXPECT_THAT(complaint(R"({"set": {"requeue": 1}})"), HasSubstr("\"requeue\" wants true or false"));
  EXPECT_THAT(complaint(R"({"set": {"partitions": [1]}})"), HasSubstr("\"partitions\" wants a list of texts"));
  EXPECT_THAT(complaint(R"({"set": {"features": "a&"}})"), HasSubstr("a&"));
  EXPECT_THAT(complaint(R"({"set": {"request": {"gpus": 1}}})"), HasSubstr("\"gpus\" of a request cannot be set"));
  EXPECT_THAT(complaint(R"({"set": {"request": {"memory_per_node_mb": -1}}})"), HasSubstr("wants a whole number"));
  EXPECT_THAT(complaint("boom", 3), HasSubstr("exit code 3 boom"));
}

}  // namespace
}  // namespace gw::ctld
