// gangway why JOB.
#include <cstdlib>
#include <utility>

#include "client/show/job_labels.h"
#include "client/why/why_text.h"
#include "cmds/gangway/shared/ask_controller.h"
#include "cmds/gangway/shared/verbs.h"
#include "cmds/gangway/verbs/quota_words.h"

namespace gw::cmds {
namespace {

const client::CommandDoc kWhyDoc = {
    "say why a job waits, or runs where it does, and what would help",
    "[OPTIONS] [JOB]",
    "Of a job that waits: when it starts as things are, everything that is in its way with its figures, the jobs that "
    "are "
    "ahead of it and by which rule, and which changes would start it sooner, each with the command that makes it. The "
    "scheduler itself is asked about each, up to 16, while it does nothing else; nothing is changed. Changes are tried "
    "of "
    "one's own jobs (administrators: of all). Of a job that runs: where and since when, how it stands to the quotas, "
    "and "
    "its history; of one that has ended: how, and its history. Without JOB the job that this runs in is meant.",
    {{"0", "the answer is printed"}, {"1", "bad words, no such job, or no answer"}},
    {{"GANGWAY_JOB_ID", "the job, without JOB"},
     {"SLURM_JOB_ID", "the same, where that is not set"},
     {"GANGWAY_CONF", "path of the configuration"}},
    {{"gangway why 4711", "why does it not start?"}, {"gangway why --json 4711", "for programs; see docs/json.md"}},
    {},
};

/// Of a job that does not wait: its history, and how it stands to the quotas.
base::Status add_life(const client::Program& program, uint32_t id, client::WhyAnswer& answer) {
  wire::ApiRequest request;
  request.mutable_show_job()->set_id(id);
  request.mutable_show_job()->set_history(true);
  GW_TRY(shown, ask_controller(program, request));
  answer.shown = std::move(*shown.mutable_show_job());
  *answer.why.mutable_job() = answer.shown.job();
  wire::ApiRequest labels;
  google::protobuf::RepeatedPtrField<wire::Job> one;
  *one.Add() = answer.why.job();
  if (!client::ask_for_labels(one, *labels.mutable_show_shares())) return {};
  GW_TRY(shares, ask_controller(program, labels));
  const client::JobLabels list(std::move(*shares.mutable_show_shares()));
  if (const wire::JobLabel* label = list.of(answer.why.job())) answer.label = *label;
  return {};
}

}  // namespace

int why_verb(const Invocation& call) {
  bool json = false, no_offers = false;
  std::vector<std::string> operands;
  if (const auto code = parse_verb(
          call, kWhyDoc,
          {flag("json", 0, "as JSON, with schema_version", json), flag("no-offers", 0, "try no changes", no_offers)},
          operands))
    return *code;
  const auto job = job_in_question(operands, std::getenv("GANGWAY_JOB_ID"), std::getenv("SLURM_JOB_ID"));
  if (!job) return failed(call.program, job.error());
  auto id = number_of(call.program, *job);
  // Of a task that waits with others of its array the array tells why.
  if (!id && id.error().code == base::ErrorCode::kConflict && job->tasks.size() == 1) id = job->tasks.begin()->first;
  if (!id) return failed(call.program, id.error());
  wire::ApiRequest request;
  request.mutable_why_job()->set_id(*id);
  request.mutable_why_job()->set_offers(!no_offers);
  auto reply = ask_controller(call.program, request);
  // One that ended long ago is in the store alone.
  if (!reply && reply.error().code != base::ErrorCode::kNotFound) return failed(call.program, reply.error());
  client::WhyAnswer answer;
  if (reply)
    answer.why = std::move(*reply->mutable_why_job());
  else
    answer.why.mutable_job()->set_id(*id);
  if (!answer.why.job().status().has_waiting())
    if (const base::Status done = add_life(call.program, *id, answer); !done) return failed(call.program, done.error());
  return client::print_out(json ? client::why_json(answer) : client::why_text(answer)) ? client::kExitOk
                                                                                       : client::kExitFailed;
}

}  // namespace gw::cmds
