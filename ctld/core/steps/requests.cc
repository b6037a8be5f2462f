// See requests.h.
#include "ctld/core/steps/requests.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "ctld/core/jobs/allocation_end.h"
#include "ctld/core/jobs/signals.h"
#include "ctld/core/shared/links.h"
#include "ctld/core/shared/listing.h"
#include "ctld/core/shared/permissions.h"
#include "ctld/core/shared/replies.h"
#include "ctld/core/shared/sight.h"
#include "ctld/core/steps/begin.h"
#include "ctld/core/steps/orders.h"
#include "ctld/core/steps/use.h"
#include "model/sentences.h"
#include "wire/convert.h"

namespace gw::ctld {

using model::Job;
using model::JobState;
using model::Step;

namespace {

// A step has a process of its own on each node, whether or not it takes cores.
constexpr size_t kMostAtOnce = 1000;      // of one job
constexpr size_t kMostWaiting = 1000;     // likewise
constexpr int64_t kMostOfOneJob = 100;    // waiting, of one connection
constexpr size_t kMaxRequest = 64 << 10;  // bytes

base::Error no_such_step(const Job& job, uint32_t number) {
  return {base::ErrorCode::kNotFound,
          fmt::format("invalid step id specified: job {} has no step {}", job.id.value, number),
          "gqueue -s lists the steps that run"};
}

base::Status check_step_request(const wire::CreateStepRequest& request) {
  if (request.client_key().size() != kKeyBytes) return base::invalid("the key of the client has not 32 bytes");
  if (request.ByteSizeLong() > kMaxRequest)
    return base::invalid(
        fmt::format("what the step asks for takes {} bytes; at most {} are taken", request.ByteSizeLong(), kMaxRequest),
        "name fewer nodes");
  return {};
}

base::Status may_begin_step(const Caller& caller, const Job& job, const wire::CreateStepRequest& request) {
  if (caller.uid != job.spec.uid)
    return base::fail(base::ErrorCode::kDenied, fmt::format("steps of job {} run as {}: only its owner begins them",
                                                            job.id.value, job.spec.user));
  GW_TRY_STATUS(check_step_request(request));
  // A script that goes by itself may be heard of by its step before the node has told that it runs.
  if (job.state == JobState::kRunning || job.state == JobState::kConfiguring) return {};
  const bool is_over = model::is_end(job.state) || job.state == JobState::kCompleting;
  return base::fail(
      base::ErrorCode::kConflict,
      fmt::format("job {} is {}: a step needs a job that runs", job.id.value, model::long_name(job.state)),
      is_over ? "" : "wait until it runs");
}

void answer_when_ready(Core& core, const Step& step, const Waiter& waiter) {
  if (!step.is_ready()) {
    const auto waits = std::count_if(core.clients.step_waiters.begin(), core.clients.step_waiters.end(),
                                     [&](const auto& entry) { return entry.second.conn == waiter.conn; });
    if (waits >= kMostOfOneJob)
      return core.out.refuse(waiter.conn, waiter.request_id,
                             {base::ErrorCode::kInvalid, "this connection waits for 100 steps already", ""});
    core.clients.step_waiters.emplace(std::pair(step.job, step.number), waiter);
    return;
  }
  send_ticket(core, step, waiter.conn, waiter.request_id, step.client_key, false);
}

void create_step(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request) {
  const wire::CreateStepRequest& create = request.create_step();
  const auto job = job_for_step(core, caller, create.job_id());
  if (!job) return core.out.refuse(conn, request.id(), job.error());
  const base::Status may = may_begin_step(caller, **job, create);
  if (!may) return core.out.refuse(conn, request.id(), may.error());
  for (Step* step : core.steps.of((*job)->id))
    if (step->client_key == create.client_key() && !step->is_ending)
      return answer_when_ready(core, *step, {conn, request.id()});
  if (const auto waits = core.clients.waiting_steps.find((*job)->id); waits != core.clients.waiting_steps.end())
    for (StepWait& wait : waits->second) {  // it asks again over another connection
      if (wait.client_key != create.client_key()) continue;
      wait.conn = conn;
      wait.request_id = request.id();
      return;
    }
  auto asked = wire::from_wire(create.step());
  if (!asked) return core.out.refuse(conn, request.id(), asked.error());
  StepWait wait{conn, request.id(), std::move(*asked), create.client_key(), {}};
  wait.beside.assign(create.beside().begin(), create.beside().end());
  if (core.steps.count_of((*job)->id) >= kMostAtOnce)
    return core.out.refuse(
        conn, request.id(),
        {base::ErrorCode::kUnavailable, fmt::format("job {} has {} steps at once", create.job_id(), kMostAtOnce),
         "wait until some have ended"});
  auto& line = core.clients.waiting_steps[(*job)->id];
  const auto of_conn = std::count_if(line.begin(), line.end(), [&](const StepWait& w) { return w.conn == conn; });
  // Those that came first go first; who shares is in nobody's way.
  const bool runs = (*job)->state == JobState::kRunning;
  const bool may_go = runs && (line.empty() || wait.request.overlap);
  const base::Result<bool> begun = may_go ? begin_step(core, **job, wait) : base::Result<bool>(false);
  if (!begun) core.out.refuse(conn, request.id(), begun.error());
  if (begun && !*begun && (create.immediate() || line.size() >= kMostWaiting || of_conn >= kMostOfOneJob))
    core.out.refuse(conn, request.id(),
                    {base::ErrorCode::kUnavailable,
                     runs ? "unable to create the step now: other steps of the job have what it asks for"
                          : "unable to create the step now: the job is about to start",
                     runs ? "leave --immediate out to wait, or share with --overlap" : "leave --immediate out to wait",
                     create.immediate() ? model::kImmediateSentence : ""});
  else if (begun && !*begun)
    line.push_back(std::move(wait));
  if (line.empty()) core.clients.waiting_steps.erase((*job)->id);
}

void give_ticket(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request) {
  const wire::TicketRequest& asked = request.ticket();
  const auto job = job_for_step(core, caller, asked.job_id());
  if (!job) return core.out.refuse(conn, request.id(), job.error());
  const Step* step = core.steps.find(**job, asked.step());
  if (step == nullptr || !step->is_ready())
    return core.out.refuse(conn, request.id(), no_such_step(**job, asked.step()));
  if (asked.client_key().size() != kKeyBytes)
    return core.out.refuse(conn, request.id(),
                           {base::ErrorCode::kInvalid, "the key of the client has not 32 bytes", ""});
  // What is typed runs as the owner: nobody else may type.
  if (caller.uid != step->uid && !asked.watch())
    return core.out.refuse(
        conn, request.id(),
        {base::ErrorCode::kDenied, fmt::format("step {} belongs to {}", step->text(), (*job)->spec.user),
         "others may only watch"});
  send_ticket(core, *step, conn, request.id(), asked.client_key(), asked.watch());
}

void list_steps(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request) {
  const auto ids = job_ids(request.list_steps().job_ids());
  const SeenJobs seen = Sight(core, caller).jobs();
  auto fill = [&core, ids, seen, last = StepKey{JobId(), 0}](Time at, ListPiece& piece) mutable {
    wire::ListStepsReply& list = *piece.reply.mutable_list_steps();
    list.set_now_us(at.us);
    uint32_t hidden = 0;
    const auto tell_hidden = [&] {
      if (hidden > 0) list.add_hidden(hidden);
    };
    for (auto it = core.steps.all().upper_bound(last); it != core.steps.all().end(); ++it) {
      if (piece.is_full()) {
        tell_hidden();
        return false;
      }
      last = it->first;
      piece.looked_at();
      if (!ids.empty() && !ids.contains(last.first.value)) continue;
      const model::Job& job = core.jobs.at(last.first);
      if (!seen.has(job.spec.uid, job.spec.qos)) {
        hidden += ids.empty() ? 1 : 0;  // who names a job must not learn that it is there
        continue;
      }
      wire::Step& shown = *list.add_steps() = wire::to_wire(it->second);
      shown.clear_client_key();
      for (wire::StepNode& node : *shown.mutable_nodes()) node.clear_key();
      piece.added(shown.ByteSizeLong());
    }
    tell_hidden();
    return true;
  };
  begin_list(core, conn, request.id(), std::move(fill));
}

void signal_step(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request) {
  const wire::SignalStepRequest& asked = request.signal_step();
  const auto job = job_for_step(core, caller, asked.job_id());
  if (!job) return core.out.refuse(conn, request.id(), job.error());
  Step* step = core.steps.find(**job, asked.step());
  // One that is over is what was wanted; but a signal should reach somebody.
  const bool has_ended = step == nullptr && (*job)->placed() != nullptr && asked.step() < (*job)->placed()->next_step;
  if (has_ended && asked.signo() == 0)
    return core.out.refuse(
        conn, request.id(),
        {base::ErrorCode::kConflict, fmt::format("step {}.{} has ended already", (*job)->id.value, asked.step()), ""});
  if (step == nullptr) return core.out.refuse(conn, request.id(), no_such_step(**job, asked.step()));
  constexpr int kMaxSignal = 64;
  if (asked.signo() < 0 || asked.signo() > kMaxSignal)
    return core.out.refuse(conn, request.id(),
                           {base::ErrorCode::kInvalid, fmt::format("signal {} does not exist", asked.signo()), ""});
  if (asked.signo() == 0) {
    stop_step(core, *step, kill_wait_of(core, *step));
    core.rows.step(*step);
  }
  NodeMessages messages;
  if (asked.signo() != 0) ctld::signal_step(*step, asked.signo(), messages);
  for (auto& [node, message] : messages) send_to_node(core, node, std::move(message));
  core.out.job_event(**job, asked.signo() == 0 ? "step cancelled" : "step signalled",
                     fmt::format("step {} by {}", step->text(), caller.user), caller.uid);
  wire::ApiReply out;
  out.mutable_ok();
  reply_change(core, conn, caller, request, std::move(out));
}

}  // namespace

void step_request(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request) {
  if (request.has_create_step()) return create_step(core, conn, caller, request);
  if (request.has_ticket()) return give_ticket(core, conn, caller, request);
  if (request.has_end_allocation()) return end_allocation(core, conn, caller, request);
  if (request.has_signal_step()) return signal_step(core, conn, caller, request);
  if (request.has_step_usage()) return ask_use(core, conn, caller, request);
  list_steps(core, conn, caller, request);
}

base::Result<std::optional<StepWait>> accept_first_step(ConnId conn, const model::JobSpec& spec,
                                                        const wire::SubmitRequest& submit) {
  if (!submit.has_first_step()) return std::nullopt;
  if (spec.kind != model::JobKind::kStep || submit.components_size() > 0)
    return base::invalid("only a job that is one step begins with a step");
  GW_TRY_STATUS(check_step_request(submit.first_step()));
  GW_TRY(request, wire::from_wire(submit.first_step().step()));
  return StepWait{conn, 0, std::move(request), submit.first_step().client_key(), {}};
}

void forget_step_waiters(Core& core, ConnId conn) {
  std::set<StepKey> left;
  for (auto it = core.clients.step_waiters.begin(); it != core.clients.step_waiters.end();) {
    if (it->second.conn == conn) left.insert(it->first);
    it = it->second.conn == conn ? core.clients.step_waiters.erase(it) : std::next(it);
  }
  for (const StepKey& key : left) {
    Step* step = core.steps.find(key);
    if (step == nullptr || core.clients.step_waiters.contains(key) || step->is_ready()) continue;
    stop_step(core, *step, {});
    core.rows.step(*step);
  }
  std::set<JobId> jobs;
  for (auto& [job, line] : core.clients.waiting_steps)
    if (std::erase_if(line, [&](const StepWait& wait) { return wait.conn == conn; }) > 0) jobs.insert(job);
  for (const JobId id : jobs)
    if (Job* job = core.jobs.find(id)) begin_waiting_steps(core, *job);
}

}  // namespace gw::ctld
