// The API without a network: which paths ask what, what is made of the answers, and what is refused.
#include "webd/core/api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "wire/bounds.h"
#include "wire/request_kinds.h"

namespace gw::webd {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

Asked get(const std::string& path, std::map<std::string, std::string> query = {}) {
  Asked asked;
  asked.path = "/api/v1/" + path;
  asked.query = std::move(query);
  return asked;
}
Asked post(const std::string& path, const std::string& body = {}) {
  Asked asked = get(path);
  asked.method = "POST";
  asked.body = body;
  asked.from = "10.1.2.3";
  return asked;
}
std::string error_of(const Asked& asked) {
  const auto question = question_of(asked);
  return question ? "" : question.error().what;
}
/// The first request of it.
wire::ApiRequest request_of(const Asked& asked) {
  const auto question = question_of(asked);
  EXPECT_TRUE(question) << (question ? "" : question.error().text());
  return question && !question->requests.empty() ? question->requests[0] : wire::ApiRequest();
}
Asked example_of(const Route& route) {
  Asked asked;
  asked.method = route.method;
  asked.path = route.pattern;
  for (const auto& [name, value] : {std::pair<std::string, std::string>{"{id}", "7"}, {"{name}", "n1"}})
    if (const size_t at = asked.path.find(name); at != std::string::npos) asked.path.replace(at, name.size(), value);
  if (asked.method == "POST" && asked.path.ends_with("/jobs"))
    asked.body = R"({"script": "#!/bin/sh\n", "chdir": "/tmp"})";
  return asked;
}

TEST(Api, AGetOnlyReadsAndAPostAlwaysSaysThatItChanges) {
  size_t count = 0;
  for (const Route& route : routes()) {
    const Asked asked = example_of(route);
    EXPECT_THAT(methods_of(asked.path), HasSubstr(std::string(route.method))) << asked.path;
    const auto question = question_of(asked);
    if (!question) {
      EXPECT_EQ(question.error().code, base::ErrorCode::kNotFound) << asked.path << " the server itself answers";
      continue;
    }
    ++count;
    EXPECT_EQ(question->is_change, route.method == "POST") << asked.path;
    for (const wire::ApiRequest& request : question->requests) {
      EXPECT_EQ(wire::is_change(request), question->is_change) << asked.path;
      EXPECT_TRUE(wire::is_open_to_tokens(request)) << asked.path;
      EXPECT_TRUE(wire::check_bounds(wire::kApiRequestBounds, request.SerializeAsString())) << asked.path;
    }
  }
  EXPECT_GE(count, 15U);
}

TEST(Api, ErrorsOfTheControllerArePassedOn) {
  for (const Route& route : routes()) {
    auto question = question_of(example_of(route));
    if (!question || question->requests.empty()) continue;
    Replies replies(question->requests.size(), base::fail(base::ErrorCode::kTimeout, "late"));
    if (question->more) EXPECT_TRUE(question->more(replies).empty()) << route.pattern;
    const auto text = question->json(replies);
    ASSERT_FALSE(text) << route.pattern;
    EXPECT_EQ(text.error().what, "late") << route.pattern;
  }
}

TEST(Api, AnswersOfAnotherKindHarmNothing) {
  for (const Route& route : routes()) {
    auto question = question_of(example_of(route));
    if (!question || question->requests.empty()) continue;
    Replies replies(question->requests.size(), wire::ApiReply());
    if (question->more)
      for (size_t left = question->more(replies).size(); left > 0; --left) replies.emplace_back(wire::ApiReply());
    const auto text = question->json(replies);
    if (text) EXPECT_TRUE(Json::accept(*text)) << route.pattern << *text;
  }
}

TEST(Api, FiltersOfJobsAreThoseOfTheQueue) {
  const wire::ApiRequest request = request_of(get(
      "jobs", {{"state", "running,PD"}, {"user", "alice,bob"}, {"qos", "q"}, {"partition", "p"}, {"node", "n[1-2]"}}));
  const wire::JobFilter& filter = request.list_jobs().filter();
  EXPECT_EQ(filter.states_size(), 2);
  EXPECT_EQ(filter.users_size(), 2);
  EXPECT_EQ(filter.nodes_size(), 2);
  EXPECT_EQ(filter.qos(0) + filter.partitions(0), "qp");
  EXPECT_TRUE(request_of(get("jobs", {{"state", "all"}})).list_jobs().filter().all_states());
  EXPECT_THAT(error_of(get("jobs", {{"state", "nosuch"}})), HasSubstr("nosuch"));
  EXPECT_THAT(error_of(get("jobs", {{"limit", "0"}})), HasSubstr("limit"));
  EXPECT_THAT(error_of(get("jobs", {{"limit", "10001"}})), HasSubstr("limit"));
  EXPECT_THAT(error_of(get("jobs", {{"offset", "-1"}})), HasSubstr("offset"));
}

TEST(Api, AListIsCutAndItsFieldsAreChosen) {
  auto question = question_of(get("jobs", {{"limit", "2"}, {"offset", "1"}, {"fields", "job_id,nosuch"}}));
  ASSERT_TRUE(question);
  wire::ApiReply reply;
  for (uint32_t id = 1; id <= 5; ++id) reply.mutable_list_jobs()->add_jobs()->set_id(id);
  Replies replies{reply};
  EXPECT_TRUE(question->more(replies).empty()) << "none of them runs";
  const Json j = Json::parse(question->json(replies).value());
  EXPECT_EQ(j["jobs"], Json::parse(R"([{"job_id": 2, "nosuch": null}, {"job_id": 3, "nosuch": null}])"));
  EXPECT_EQ(j["total"], 5);
  auto beyond = question_of(get("jobs", {{"offset", "4294967295"}}));
  Replies same{reply};
  EXPECT_EQ(Json::parse(beyond->json(same).value())["jobs"], Json::array());
}

TEST(Api, PathsAndNumbersAreTakenAsTheyStand) {
  EXPECT_EQ(request_of(get("jobs/7")).show_job().id(), 7U);
  EXPECT_EQ(request_of(get("jobs/7/why")).why_job().id(), 7U);
  EXPECT_FALSE(request_of(get("jobs/7/why")).why_job().offers());
  EXPECT_FALSE(request_of(get("jobs/7")).show_job().script() || request_of(get("jobs/7")).show_job().environment());
  EXPECT_EQ(request_of(get("nodes/n1")).list_nodes().names(0), "n1");
  for (const char* path : {"jobs/", "jobs/0", "jobs/x", "jobs/-1", "jobs/7x", "jobs/4294967296", "jobs/7/", "jobs//why",
                           "jobs/7/why/x", "", "nodes/", "nodes/a/b", "JOBS"})
    EXPECT_NE(error_of(get(path)), "") << path;
  EXPECT_EQ(methods_of("/api/v1/jobs"), "GET, POST");
  EXPECT_EQ(methods_of("/api/v1/jobs/7/cancel"), "POST");
  EXPECT_EQ(methods_of("/api/v2/jobs"), "");
}

TEST(Api, ASubmissionIsWhatGbatchMakesOfIt) {
  const wire::SubmitRequest submit =
      request_of(
          post("jobs", R"({"script": "#!/bin/sh\n#SBATCH -J name -t 5\n", "chdir": "/home/a", "arguments": ["x y"],
                                   "options": ["-N2", "--gpus-per-node=8", "-t", "60"], "environment": {"A": "b c"}})"))
          .submit();
  EXPECT_EQ(submit.spec().name(), "name");
  EXPECT_EQ(submit.spec().time_limit_us(), base::hours(1).us) << "options go over the script's lines";
  EXPECT_EQ(submit.spec().launch().work_dir(), "/home/a");
  EXPECT_EQ(submit.spec().launch().args(0), "x y");
  EXPECT_EQ(submit.spec().submit_host(), "10.1.2.3");
  const std::string environment = submit.environment();
  EXPECT_THAT(environment, HasSubstr(std::string("A=b c\0", 6)));
  EXPECT_THAT(environment, HasSubstr("SLURM_GET_USER_ENV="));
  EXPECT_THAT(environment, testing::Not(HasSubstr("PATH="))) << "nothing of the server's own";
  EXPECT_TRUE(request_of(post("jobs", R"({"script": "#!/bin/sh\n", "chdir": "/", "options": ["--test-only"]})"))
                  .submit()
                  .test_only());
  EXPECT_EQ(request_of(post("jobs", R"({"script": "#!/bin/sh\n", "options": ["--array=1-9", "--chdir=/x"]})"))
                .submit()
                .spec()
                .launch()
                .work_dir(),
            "/x");
}

TEST(Api, WhatCostsMuchIsRefusedBeforeItIsLookedAt) {
  const auto with = [](const std::string& options) {
    return post("jobs", R"({"script": "#!/bin/sh\n", "chdir": "/tmp", "options": )" + options + "}");
  };
  EXPECT_EQ(error_of(with(R"(["-w", "n[1-10000]"])")).find("10000 nodes"), std::string::npos);
  for (const char* list : {"n[1-10001]", "n[1-101]m[1-101]", "n[1-6000],m[1-6000]", "n[0-99999999999999999999]"})
    EXPECT_THAT(error_of(with(std::string(R"(["-w", ")") + list + R"("])")), HasSubstr("10000 nodes")) << list;
  EXPECT_THAT(error_of(post("jobs", R"({"script": "#!/bin/sh\n#SBATCH -w n[1-20000]\n", "chdir": "/"})")),
              HasSubstr("10000 nodes"));
  EXPECT_THAT(error_of(with("[\"--comment=" + std::string(70'000, 'x') + "\"]")), HasSubstr("64 KiB"));
  EXPECT_THAT(error_of(post("jobs", "{\"options\": " + std::string(100'000, '['))), HasSubstr("no JSON object"));
  EXPECT_THAT(error_of(post("jobs", "{\"options\": [[[[\"\"]]]]}")), HasSubstr("no JSON object"));
  EXPECT_THAT(error_of(post("jobs", R"({"script": "[[[[[[[[{\"{{{{"})")),
              HasSubstr("does not look like a batch script"));
}

TEST(Api, OptionsWithoutSenseAndWordsThatAreNoneAreTold) {
  for (const char* option : {"--uid=1", "--gid=0", "--wait", "--help", "--version", "--usage", "-W", "--clusters=x"})
    EXPECT_NE(error_of(post("jobs",
                            std::string(R"({"script": "#!/bin/sh\n", "chdir": "/", "options": [")") + option + "\"]}")),
              "")
        << option;
  EXPECT_THAT(error_of(post("jobs", R"({"script": "#!/bin/sh\n", "chdir": "/", "options": ["-N1", "script.sh"]})")),
              HasSubstr("script.sh is none"));
}

TEST(Api, SignalsAndActions) {
  EXPECT_EQ(request_of(post("jobs/7/cancel", R"({"signal": 10})")).cancel().signo(), 10);
  EXPECT_EQ(request_of(post("jobs/7/cancel")).cancel().filter().ids(0), 7U);
  EXPECT_EQ(request_of(post("jobs/7/hold")).job_action().action(), wire::kUserHold);
  for (const char* body : {R"({"signal": 0})", R"({"signal": 65})", R"({"signal": 1.5})", R"({"signal": "9"})", "[]",
                           "{", R"({"x": 1})", R"({"signal": 99999999999999999999})"})
    EXPECT_NE(error_of(post("jobs/7/cancel", body)), "") << body;
  auto question = question_of(post("jobs/7/hold"));
  wire::ApiReply reply;
  wire::Error& fault = *reply.mutable_jobs()->add_faults()->mutable_error();
  fault.set_code(static_cast<uint32_t>(base::ErrorCode::kDenied));
  fault.set_what("not yours");
  Replies replies{reply};
  const auto told = question->json(replies);
  ASSERT_FALSE(told);
  EXPECT_EQ(status_of(told.error().code), 403);
}

TEST(Api, TheDocumentHasEveryPath) {
  Replies none;
  const Json j = Json::parse(question_of(get("openapi.json"))->json(none).value());
  for (const Route& route : routes()) {
    const Json& operation = j["paths"][std::string(route.pattern)][route.method == "GET" ? "get" : "post"];
    EXPECT_EQ(operation["summary"], route.doc);
    EXPECT_EQ(operation.contains("security"), route.method == "POST") << route.pattern;
  }
}

TEST(Api, ErrorsAreJsonWhateverTheySay) {
  const Json j = Json::parse(error_json({base::ErrorCode::kNotFound, "no \"x\"\n\xff", "try"}));
  EXPECT_EQ(j["error"]["code"], "not_found");
  EXPECT_EQ(j["error"]["hint"], "try");
  std::set<int> statuses;
  for (int code = 0; code <= static_cast<int>(base::ErrorCode::kInternal); ++code)
    statuses.insert(status_of(static_cast<base::ErrorCode>(code)));
  EXPECT_EQ(statuses, (std::set<int>{400, 403, 404, 409, 500, 502, 503, 504}));
}

}  // namespace
}  // namespace gw::webd
