// gangway watch JOB: what happens to a job, line by line, until it has ended.
// Invariants: each event is told once, in its order, also over a restart of the controller; a line is one line, and no
// byte that a user wrote reaches a terminal as a command to it.
#include <fmt/format.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/text.h"
#include "base/time.h"
#include "client/conn/connection.h"
#include "client/show/job_view.h"
#include "client/show/show_json.h"
#include "cmds/gangway/shared/verbs.h"
#include "cmds/gangway/verbs/quota_words.h"
#include "model/job_state.h"

namespace gw::cmds {
namespace {

const client::CommandDoc kDoc = {
    "tell what happens to a job, until it has ended",
    "[OPTIONS] [JOB]",
    "Prints each line of the job's history as it comes, and each new state and reason for which it waits. It begins "
    "with "
    "what has happened so far. Ctrl-C ends it, and does nothing to the job. Without JOB the job that this runs in is "
    "meant.",
    {{"0", "the job has completed"}, {"1", "it has ended otherwise; bad words, no such job, or no answer"}},
    {{"GANGWAY_JOB_ID", "the job, without JOB"},
     {"SLURM_JOB_ID", "the same, where that is not set"},
     {"GANGWAY_CONF", "path of the configuration"}},
    {{"gangway watch 4711", "until it has ended"},
     {"gangway watch --json 4711", "for programs: an object a line, with schema_version"}},
    {},
};

/// What was told last.
struct Told {
  uint64_t seq = 0;
  int64_t time_us = 0;
  std::string state, reason;
};

bool print_line(bool json, int64_t time_us, const std::string& kind, const std::string& text) {
  if (!json)
    return client::print_out(fmt::format("{}  {:<14} {}\n", base::format_time({time_us}), base::printable(kind),
                                         base::printable(text, 2000)));
  const nlohmann::ordered_json j = {
      {"schema_version", client::kSchemaVersion}, {"time_us", time_us}, {"kind", kind}, {"text", text}};
  return client::print_out(j.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
}

/// What is new in its history.
base::Result<bool> tell_events(client::Connection& connection, uint32_t id, bool json, Told& told) {
  wire::ApiRequest request;
  wire::ListEventsRequest& list = *request.mutable_list_events();
  list.set_job(id);
  list.set_since_us(told.time_us);
  list.set_last(1000);
  GW_TRY(reply, connection.call(std::move(request)));
  for (const wire::HistoryEvent& event : reply.list_events().events()) {
    if (event.seq() <= told.seq) continue;
    told.seq = event.seq();
    told.time_us = event.time_us();
    if (!print_line(json, event.time_us(), event.kind(), event.text())) return false;
  }
  return true;
}

/// Its state and why it waits, where that is new. The state that it is in.
base::Result<model::JobState> tell_state(client::Connection& connection, uint32_t id, bool json, Told& told) {
  wire::ApiRequest request;
  request.mutable_show_job()->set_id(id);
  GW_TRY(reply, connection.call(std::move(request)));
  const wire::Job& job = reply.show_job().job();
  const model::JobState state = client::state_of(job);
  const std::string word(model::long_name(state));
  const std::string detail = client::reason_detail(job);
  const std::string reason = !detail.empty()                      ? detail
                             : client::reason_word(job) == "None" ? ""
                                                                  : client::reason_word(job);
  if (word == told.state && reason == told.reason) return state;
  told.state = word;
  told.reason = reason;
  if (!print_line(json, reply.show_job().now_us(), word, reason))
    return base::fail(base::ErrorCode::kUnavailable, "standard output is closed");
  return state;
}

/// Until something in the cluster is other than at `version`, which is then of now.
base::Status wait_for_change(client::Connection& connection, uint64_t& version) {
  wire::ApiRequest request;
  request.mutable_await_change()->set_version(version);
  GW_TRY(reply, connection.call(std::move(request)));
  version = reply.await_change().version();
  return {};
}

}  // namespace

int watch_verb(const Invocation& call) {
  bool json = false;
  std::vector<std::string> operands;
  if (const auto code =
          parse_verb(call, kDoc, {flag("json", 0, "an object a line, with schema_version", json)}, operands))
    return *code;
  const auto job = job_in_question(operands, std::getenv("GANGWAY_JOB_ID"), std::getenv("SLURM_JOB_ID"));
  if (!job) return failed(call.program, job.error());
  const auto id = number_of(call.program, *job);
  if (!id) return failed(call.program, id.error());
  auto connection = client::connect(call.program);  // one for all questions
  if (!connection) return failed(call.program, connection.error());
  Told told;
  for (uint64_t version = 0;;) {
    // What happens from here on is a change.
    if (const base::Status changed = wait_for_change(*connection, version); !changed)
      return failed(call.program, changed.error());
    // The state is asked for first: what led to it is in the history then.
    const auto state = tell_state(*connection, *id, json, told);
    if (!state) return failed(call.program, state.error());
    const auto is_open = tell_events(*connection, *id, json, told);
    if (!is_open) return failed(call.program, is_open.error());
    if (!*is_open) return client::kExitFailed;
    if (model::is_end(*state)) return *state == model::JobState::kCompleted ? client::kExitOk : client::kExitFailed;
  }
}

}  // namespace gw::cmds
