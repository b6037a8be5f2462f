// The API of the web server: any method, path, parameters and body become a question or an error that can be shown;
// what a GET asks only reads; whatever the controller answered, what comes of it is JSON. Records: 0 path, 1 parameter,
// 2 body, 3 reply; `choice` picks the method and the name of a parameter.
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "tests/fuzz/records.h"
#include "webd/core/api.h"
#include "wire/request_kinds.h"

namespace gw::fuzz {
namespace {

using webd::Asked;

constexpr std::string_view kMethods[] = {"GET", "POST", "DELETE"};
constexpr std::string_view kNames[] = {"state", "user", "limit", "offset", "fields",
                                       "node",  "job",  "days",  "name",   "x"};

void check_json(const std::string& text) {
  FUZZ_CHECK(text.ends_with('\n'));
  FUZZ_CHECK(!nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false).is_discarded());
}

void check_answers(webd::Question& question, const std::vector<std::string_view>& said) {
  webd::Replies replies;
  for (size_t i = 0; i < question.requests.size(); ++i) {
    wire::ApiReply reply;
    const bool is_one = i < said.size() && parse_message(reply, said[i]);
    replies.push_back(is_one ? base::Result<wire::ApiReply>(reply)
                             : base::Result<wire::ApiReply>(base::fail(base::ErrorCode::kTimeout, "no answer")));
  }
  if (question.more) {
    for (const wire::ApiRequest& more : question.more(replies)) FUZZ_CHECK(!wire::is_change(more));
    replies.resize(replies.size() + 2, base::fail(base::ErrorCode::kTimeout, "no answer"));
  }
  const auto text = question.json(replies);
  if (text)
    check_json(*text);
  else
    check_error(text.error());
}

bool run(std::string_view input) {
  Input in(input);
  Asked asked;
  asked.path = "/api/v1/jobs";
  asked.now = base::Time{1'800'000'000'000'000};
  std::vector<std::string_view> replies;
  while (!in.empty()) {
    const Record record = take_record(in);
    const std::string text(record.payload);
    switch (record.kind % 4) {
      case 0:
        asked.method = kMethods[record.choice % std::size(kMethods)];
        asked.path = "/api/v1/" + text;
        break;
      case 1:
        asked.query[std::string(kNames[record.choice % std::size(kNames)])] = text;
        break;
      case 2:
        asked.body = text;
        break;
      default:
        replies.push_back(record.payload);
    }
  }
  auto question = webd::question_of(asked);
  if (!question) {
    check_error(question.error());
    check_json(webd::error_json(question.error()));
    return false;
  }
  FUZZ_CHECK(question->is_change == (asked.method != "GET"));
  for (const wire::ApiRequest& request : question->requests)
    FUZZ_CHECK(question->is_change || !wire::is_change(request));
  check_answers(*question, replies);
  return true;
}

std::vector<std::string> made_inputs() {
  wire::ApiReply jobs;
  wire::Job& job = *jobs.mutable_list_jobs()->add_jobs();
  job.set_id(7);
  job.mutable_spec()->set_name("\xff\"<b>");
  wire::ApiReply use;
  wire::UseSum& sum = *use.mutable_sum_records()->add_sums();
  sum.add_keys("2027-01-15");
  sum.add_keys("\xff");
  const std::string submission =
      R"({"script": "#!/bin/sh\n#GBATCH -N2\ntrue\n", "chdir": "/tmp", "options": ["--time=5"], "environment": {"A": "b"}})";
  std::vector<std::string> out;
  for (const char* path :
       {"jobs", "jobs/7", "jobs/7/why", "nodes", "nodes/n%31", "shares", "cluster", "events", "openapi.json"})
    out.push_back(make_record(0, 0, path) + make_record(3, 0, jobs.SerializeAsString()));
  out.push_back(make_record(0, 0, "jobs") + make_record(1, 0, "PENDING") + make_record(1, 2, "5") +
                make_record(1, 4, "job_id,name") + make_record(3, 0, jobs.SerializeAsString()));
  out.push_back(make_record(0, 0, "use") + make_record(1, 7, "92") + make_record(3, 0, use.SerializeAsString()));
  out.push_back(make_record(0, 1, "jobs") + make_record(2, 0, submission));
  out.push_back(make_record(0, 1, "jobs/7/cancel") + make_record(2, 0, R"({"signal": 10})"));
  return out;
}

GW_FUZZ_TARGET("web_api", run, made_inputs);

}  // namespace
}  // namespace gw::fuzz
