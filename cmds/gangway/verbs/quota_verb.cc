// gangway quota explain A B, and of what was: gangway quota explain JOB.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/text.h"
#include "base/time.h"
#include "cmds/gangway/shared/ask_controller.h"
#include "cmds/gangway/shared/verbs.h"
#include "cmds/gangway/verbs/quota_words.h"
#include "model/qos.h"
#include "wire/bounds.h"

namespace gw::cmds {
namespace {

constexpr int kMayNot = 2;

const client::CommandDoc kExplainDoc = {
    "say whether one QOS may take from another now, and which rule says so; or what past preemptions went by",
    "[OPTIONS] A B | JOB",
    "A and B are names of QOS (cluster: the root), or numbers of jobs, which stand for their QOS. The answer is about "
    "this moment: what A holds and is due, which running jobs of B are covered by what their QOS are guaranteed and "
    "which are borrowed, and how many GPUs a job of A could take, by the judgement of the search for victims. It is "
    "what can be had by taking one job after the other, borrowed ones first, of at most 256; jobs within min_runtime "
    "of their start are left out. The rules have the numbers of the page of rules (docs/quotas.md). Whether a certain "
    "job is taken depends also on its node. With one number of a job the answer is about what was: each time that the "
    "job was "
    "preempted, or preempted others, with the rule and the figures that decided it then, as its history keeps them.",
    {{"0", "A may take from B; the history of JOB has preemptions"},
     {"1", "bad words, no such QOS or job, or no answer"},
     {"2", "A may not take from B; the history of JOB has none"}},
    {{"GANGWAY_CONF", "path of the configuration"}},
    {{"gangway quota explain team-a team-b", "may jobs of team-a preempt those of team-b?"},
     {"gangway quota explain 4711 team-b", "may job 4711?"},
     {"gangway quota explain 4711", "by whom, and why, was job 4711 preempted?"},
     {"gangway quota explain team-a team-b > /dev/null && echo yes", "in a script"}},
    {},
};

/// The tasks of an array, the first component of a heterogeneous job, in whose history all that is told: of others the
/// job itself. Those that ended long ago are in the store alone.
base::Result<std::vector<uint32_t>> looked_at(const client::Program& program, uint32_t id) {
  wire::ApiRequest request;
  request.mutable_list_jobs()->mutable_filter()->add_ids(id);
  request.mutable_list_jobs()->mutable_filter()->set_all_states(true);
  const auto reply = ask_controller(program, request);
  std::set<uint32_t> ids = {id};
  if (!reply && reply.error().code == base::ErrorCode::kNotFound) return std::vector<uint32_t>{id};
  if (!reply) return tl::unexpected(reply.error());
  for (const wire::Job& job : reply->list_jobs().jobs())
    ids.insert(job.spec().het_job() != 0 ? job.spec().het_job() : job.id());
  return std::vector<uint32_t>(ids.begin(), ids.end());
}

int explain_past(const client::Program& program, const std::string& word, const JobIds& job, bool json) {
  constexpr size_t kMost = 100;
  const auto id = number_of(program, job);
  if (!id) return failed(program, id.error());
  auto ids = looked_at(program, *id);
  if (!ids) return failed(program, ids.error());
  if (ids->size() > kMost)
    client::print_note(
        program, fmt::format("of {} tasks the first {} are looked at; name others: {}_TASK", ids->size(), kMost, word));
  ids->resize(std::min(ids->size(), kMost));
  std::vector<PastEvent> events;
  for (const uint32_t one : *ids) {
    wire::ApiRequest request;
    request.mutable_list_events()->set_job(one);
    request.mutable_list_events()->set_last(wire::kMostEvents);
    const auto reply = ask_controller(program, request);
    const bool is_unknown = !reply && reply.error().code == base::ErrorCode::kNotFound;
    if (is_unknown && one == *id && ids->size() > 1) continue;  // of an array whose last task is forgotten
    if (!reply) return failed(program, reply.error());
    for (const wire::HistoryEvent& event : reply->list_events().events())
      if (event.kind() == model::kByQuotas) events.push_back({one, event.time_us(), event.text()});
  }
  std::stable_sort(events.begin(), events.end(), [](const auto& a, const auto& b) { return a.time_us < b.time_us; });
  if (!client::print_out(json ? past_json(word, events) : past_text(word, events))) return client::kExitFailed;
  return events.empty() ? kMayNot : client::kExitOk;
}

int explain(const Invocation& call) {
  bool json = false;
  std::vector<std::string> operands;
  if (const auto code =
          parse_verb(call, kExplainDoc, {flag("json", 0, "as JSON, with schema_version", json)}, operands))
    return *code;
  if (JobIds job; operands.size() == 1 && parse_job_ids(operands[0], job) && job.size() == 1)
    return explain_past(call.program, operands[0], job, json);
  const auto asked = explain_request(operands);
  if (!asked) return failed(call.program, asked.error());
  wire::ApiRequest request;
  *request.mutable_explain_quota() = *asked;
  const auto reply = ask_controller(call.program, request);
  if (!reply) return failed(call.program, reply.error());
  const wire::ExplainQuotaReply& answer = reply->explain_quota();
  const std::string text =
      json ? explain_json(operands[0], operands[1], answer) : explain_text(operands[0], operands[1], answer);
  if (!client::print_out(text)) return client::kExitFailed;
  return answer.may() ? client::kExitOk : kMayNot;
}

constexpr Verb kVerbs[] = {
    {"explain", "A B | JOB", "say whether A may take from B now, by which rule; or what was JOB's lot", explain},
};

/// All digits: a job.
base::Status take_name(const std::string& word, const auto& set_qos, const auto& set_job) {
  if (word.empty()) return base::invalid("an empty name", "give the name of a QOS, or the number of a job");
  if (word.find_first_not_of("0123456789") != std::string::npos) return set_qos(word), base::Status{};
  GW_TRY(id, base::parse_int(word, 1, UINT32_MAX, "job id"));
  return set_job(static_cast<uint32_t>(id)), base::Status{};
}

std::string shown_name(const std::string& word) {
  const bool is_job = word.find_first_not_of("0123456789") == std::string::npos;
  return (is_job ? "job " : "") + base::printable(word);
}

}  // namespace

base::Result<wire::ExplainQuotaRequest> explain_request(const std::vector<std::string>& words) {
  if (words.size() != 2)
    return base::invalid(
        "two names are needed: who would take, and from whom; or the number of a job that was preempted",
        "gangway quota explain team-a team-b");
  wire::ExplainQuotaRequest out;
  GW_TRY_STATUS(take_name(
      words[0], [&](const std::string& qos) { out.set_preemptor(qos); },
      [&](uint32_t id) { out.set_preemptor_job(id); }));
  GW_TRY_STATUS(take_name(
      words[1], [&](const std::string& qos) { out.set_from(qos); }, [&](uint32_t id) { out.set_from_job(id); }));
  return out;
}

std::string explain_text(const std::string& preemptor, const std::string& from, const wire::ExplainQuotaReply& reply) {
  const std::string rule = reply.rule() == 0 ? "" : fmt::format(" (rule {})", reply.rule());
  std::string out;
  if (reply.may()) {
    const std::string amount =
        reply.gpu_milli() == 0 ? "" : fmt::format("up to {} of gpu ", model::format_amount("gpu", reply.gpu_milli()));
    out = fmt::format("yes: {} may take {}from {} now{}\n", shown_name(preemptor), amount, shown_name(from), rule);
  } else {
    out = fmt::format("no: {} may not take from {} now{}\n", shown_name(preemptor), shown_name(from), rule);
  }
  for (const std::string& line : reply.lines()) out += "  " + base::printable(line, SIZE_MAX) + "\n";
  return out;
}

std::string explain_json(const std::string& preemptor, const std::string& from, const wire::ExplainQuotaReply& reply) {
  nlohmann::ordered_json j;
  j["schema_version"] = 1;
  j["preemptor"] = preemptor;
  j["taker"] = preemptor;  // older name
  j["from"] = from;
  j["may"] = reply.may();
  j["rule"] = reply.rule() == 0 ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(reply.rule());
  j["gpus"] = static_cast<double>(reply.gpu_milli()) / 1000;
  j["lines"] = std::vector<std::string>(reply.lines().begin(), reply.lines().end());
  return j.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::string past_text(const std::string& word, const std::vector<PastEvent>& events) {
  if (events.empty())
    return fmt::format("The history of job {} has no preemption: nobody took from it, and it took from nobody\n",
                       base::printable(word));
  std::string out;
  for (const PastEvent& event : events)
    out += fmt::format("{} job {}: {}\n", base::format_time({event.time_us}), event.job,
                       base::printable(event.text, SIZE_MAX));
  return out;
}

std::string past_json(const std::string& word, const std::vector<PastEvent>& events) {
  nlohmann::ordered_json j;
  j["schema_version"] = 1;
  j["job"] = word;
  j["preemptions"] = nlohmann::ordered_json::array();
  for (const PastEvent& event : events)
    j["preemptions"].push_back({{"job_id", event.job}, {"time", event.time_us / 1'000'000}, {"text", event.text}});
  return j.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

int quota_verb(const Invocation& call) { return run_verb(call.program, "Questions about quotas.", kVerbs, call.args); }

}  // namespace gw::cmds
