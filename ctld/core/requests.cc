// Requests of clients: dispatch behind the authorization table, answers that are given again to a client that asks
// again, and the changes to jobs that users ask for.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "ctld/core/controller.h"
#include "ctld/core/names.h"
#include "wire/convert.h"

namespace gw::ctld {

using model::Job;
using model::JobState;
using model::Outcome;

base::Error denied_job(const Job& job) {
  return {base::ErrorCode::kDenied,
          fmt::format("access denied to job {}: it belongs to {}", job.id.value, job.spec.user),
          denial(Grant::kOwnJobs)};
}

void Controller::on_request(Time now, ConnId conn, const Caller& caller, const wire::ApiRequest& request) {
  const wire::RequestRow& row = wire::row_of(request.kind_case());
  const bool is_changing = row.effect == wire::Effect::kChanges && !request.client_id().empty();
  if (const base::Duration wait = wait_of(now, caller, request, is_changing); wait.us > 0)
    return refuse_for_now(conn, request.id(), wait);
  if (row.grant == Grant::kNobody)
    return out_.refuse(conn, request.id(),
                       {base::ErrorCode::kProtocol, "the controller does not know this kind of request",
                        "the command may be newer than the controller"});
  const Role role = is_admin(settings_, caller) ? Role::kAdmin : Role::kOther;
  // What concerns single jobs is asked again for each of them.
  if (!is_allowed(row.grant, role) && row.grant != Grant::kOwnJobs)
    return out_.refuse(conn, request.id(), {base::ErrorCode::kDenied, "permission denied", denial(row.grant)});
  if (is_changing && answer_again(conn, caller, request)) return;
  if (!store_fault_.empty() && row.while_unwritable == wire::WhileUnwritable::kStopsRuns)
    return cancel_unwritten(now, conn, caller, request);
  if (!store_fault_.empty() && row.while_unwritable == wire::WhileUnwritable::kRefused)
    return refuse_for_store(conn, request.id());
  dispatch(now, conn, caller, request);
}

base::Error Controller::store_error() const {
  return {base::ErrorCode::kUnavailable, "the controller cannot write its state: " + store_fault_,
          "nothing was changed and running jobs go on; try again when an administrator has mended it"};
}

/// While the state cannot be written nothing changes, and nothing is shown that a crash could take back.
void Controller::refuse_for_store(ConnId conn, uint64_t request_id) {
  out_.refuse_at_once(conn, request_id, store_error());
}

std::set<uint32_t> job_ids(const google::protobuf::RepeatedField<uint32_t>& ids) { return {ids.begin(), ids.end()}; }

/// What the shell carries out.
void Controller::ask_shell(ConnId conn, const wire::ApiRequest& request) {
  if (request.has_reconfigure())
    out_.send(Reload{conn, request.id(), request.reconfigure().check_only()});
  else if (request.has_backup())
    out_.send(MakeBackup{conn, request.id(), request.backup().path()});
  else
    out_.send(TakeSnapshot{conn, request.id()});
}

void Controller::dispatch(Time now, ConnId conn, const Caller& caller, const wire::ApiRequest& request) {
  using Kind = wire::ApiRequest;
  switch (request.kind_case()) {
    case Kind::kSubmit:
      return submit(now, conn, caller, request);
    case Kind::kListJobs:
      return list_jobs(now, conn, request);
    case Kind::kShowJob:
      return show_job(now, conn, caller, request);
    case Kind::kWaitJob:
      return wait_job(conn, caller, request);
    case Kind::kCancel:
      return cancel(now, conn, caller, request);
    case Kind::kUpdateJob:
      return update_job(now, conn, caller, request);
    case Kind::kJobAction:
      return job_action(now, conn, caller, request);
    case Kind::kListNodes:
      return list_nodes(now, conn, request);
    case Kind::kUpdateNode:
      return update_node(now, conn, caller, request);
    case Kind::kListPartitions:
      return list_partitions(now, conn, request);
    case Kind::kUpdatePartition:
      return update_partition(now, conn, caller, request);
    case Kind::kListPriorities:
      return list_priorities(now, conn, request);
    case Kind::kListReservations:
      return list_reservations(now, conn, request);
    case Kind::kCreateReservation:
      return create_reservation(now, conn, caller, request);
    case Kind::kUpdateReservation:
      return update_reservation(now, conn, caller, request);
    case Kind::kDeleteReservation:
      return delete_reservation(now, conn, caller, request);
    case Kind::kChangeQuotas:
      return change_quotas(now, conn, caller, request);
    case Kind::kListQuotas:
      return list_quotas(now, conn, request);
    case Kind::kShowShares:
    case Kind::kExplainQuota:
      return ask_scheduler(conn, request);
    case Kind::kCheckpointed:
      return checkpointed(now, conn, caller, request);
    case Kind::kCreateStep:
    case Kind::kTicket:
    case Kind::kListSteps:
    case Kind::kSignalStep:
    case Kind::kEndAllocation:
      return step_request(now, conn, caller, request);
    case Kind::kStepUsage:
      return ask_use(now, conn, caller, request);
    case Kind::kCreatePartition:
      return create_partition(now, conn, caller, request);
    case Kind::kDeletePartition:
      return delete_partition(now, conn, caller, request);
    case Kind::kListHeldAside:
    case Kind::kDeleteHeldAside:
      return held_request(now, conn, caller, request);
    case Kind::kShowConfig:
      return show_config(now, conn, request);
    case Kind::kReconfigure:
    case Kind::kBackup:
    case Kind::kTakeSnapshot:
      return ask_shell(conn, request);
    case Kind::kPing:
      return ping(now, conn, request);
    case Kind::KIND_NOT_SET:;
  }
}

/// It was carried out, and how it was answered cannot be read: doing it again would do it twice. False: it was not.
bool Controller::answer_lost(ConnId conn, const Caller& caller, const wire::ApiRequest& request) {
  if (held_.rows().empty()) return false;
  const std::string name = held_reply_name(caller.uid, request.client_id());
  if (held_.find(store::word_of(store::RowKind::kReply), name) == nullptr) return false;
  out_.refuse(conn, request.id(),
              {base::ErrorCode::kConflict, "this was carried out before, but what was answered cannot be read any more",
               "look whether it is as you want it"});
  return true;
}

bool Controller::answer_again(ConnId conn, const Caller& caller, const wire::ApiRequest& request) {
  const std::string* kept = kept_replies_.find(caller.uid, request.client_id());
  if (kept == nullptr) return answer_lost(conn, caller, request);
  wire::ApiReply first;
  if (!first.ParseFromString(*kept)) return false;
  out_.reply(conn, request.id(), std::move(first));
  return true;
}

void Controller::remember_reply(Time now, const Caller& caller, const wire::ApiRequest& request,
                                const wire::ApiReply& message) {
  if (request.client_id().empty()) return;
  std::string bytes = message.SerializeAsString();
  out_.write(store::PutReply{caller.uid, request.client_id(), bytes, now});
  if (kept_replies_.oldest() == Time::never()) timers_.set({now + kReplyMemory, TimerKind::kReplies, 0, 0});
  const bool is_exempt = is_admin(settings_, caller);
  for (std::string& gone : kept_replies_.keep(now, caller.uid, request.client_id(), std::move(bytes), is_exempt))
    out_.write(store::DropReply{caller.uid, std::move(gone)});
}

/// Answers a change that was made, and keeps the answer for a retry in the same transaction.
void Controller::reply_change(Time now, ConnId conn, const Caller& caller, const wire::ApiRequest& request,
                              wire::ApiReply message) {
  remember_reply(now, caller, request, message);
  out_.reply(conn, request.id(), std::move(message));
}

void Controller::cancel(Time now, ConnId conn, const Caller& caller, const wire::ApiRequest& request) {
  const wire::CancelRequest& c = request.cancel();
  const wire::JobFilter& f = c.filter();
  if (f.ids().empty() && f.uids().empty() && f.users().empty() && f.partitions().empty() && f.states().empty() &&
      f.names().empty() && f.nodes().empty() && f.accounts().empty() && f.qos().empty() && f.reservations().empty())
    return out_.refuse(conn, request.id(),
                       {base::ErrorCode::kInvalid, "no job named", "give ids, or a filter such as -u"});
  wire::ApiReply out;
  std::vector<uint32_t> unknown;
  const bool by_id = !f.ids().empty();
  std::set<uint32_t> ids;
  for (JobId id : select(f, &unknown)) ids.insert(id.value);
  const std::set<uint32_t> named = ids;
  for (uint32_t value : with_components(std::move(ids))) {
    const JobId id(value);
    // What one component came to the others came to with it.
    if (!named.contains(value) && model::is_end(jobs_.at(id).state)) continue;
    const base::Status done = cancel_one(now, caller, jobs_.at(id), c);
    if (!named.contains(value)) continue;
    if (done) {
      out.mutable_cancel()->add_done(id.value);
    } else if (by_id || done.error().code != base::ErrorCode::kDenied) {
      wire::JobFault& fault = *out.mutable_cancel()->add_faults();
      fault.set_id(id.value);
      *fault.mutable_error() = wire::to_wire(done.error());
    }
  }
  for (uint32_t id : unknown) {
    wire::JobFault& fault = *out.mutable_cancel()->add_faults();
    fault.set_id(id);
    *fault.mutable_error() = wire::to_wire(no_such_job(JobId(id)));
  }
  out.mutable_cancel();
  reply_change(now, conn, caller, request, std::move(out));
}

base::Status Controller::cancel_one(Time now, const Caller& caller, Job& job, const wire::CancelRequest& request) {
  if (!is_allowed(Grant::kOwnJobs, role_for(caller, job))) return tl::unexpected(denied_job(job));
  if (model::is_end(job.state))
    return base::fail(base::ErrorCode::kConflict,
                      fmt::format("job {} has ended already: {}", job.id.value, model::long_name(job.state)));
  constexpr int kMaxSignal = 64, kKill = 9;
  if (request.signo() < 0 || request.signo() > kMaxSignal)
    return base::invalid(fmt::format("signal {} does not exist", request.signo()));
  const bool is_kill = request.signo() == kKill && !request.batch_only();  // as in Slurm, that ends the job
  if (request.signo() != 0 && !is_kill) {
    if (job.state != JobState::kRunning)
      return base::fail(base::ErrorCode::kConflict, fmt::format("job {} is not running", job.id.value));
    const SignalReach reach = request.full()         ? SignalReach::kAll
                              : request.batch_only() ? SignalReach::kScript
                                                     : SignalReach::kSteps;
    if (!signal(job, request.signo(), reach))  // scancel passes over what is not there in silence
      return base::fail(base::ErrorCode::kNotFound,
                        fmt::format("job {} runs no step: nobody was signalled", job.id.value),
                        "-b signals its batch script, -f the script and all that it started");
    out_.job_event(now, job, "signalled", fmt::format("signal {} by {}", request.signo(), caller.user), caller.uid);
    return {};
  }
  end_by_user(now, caller, job, is_kill);
  return {};
}

/// False: nobody is there to be signalled.
bool Controller::signal(const Job& job, int signo, SignalReach reach) {
  std::vector<const model::Step*> steps;
  for (const model::Step* step : steps_.of(job.id)) steps.push_back(step);
  NodeMessages messages = signal_job(job, steps, signo, reach);
  for (auto& [node, message] : messages) send_to_node(node, std::move(message), nullptr, overtakes(job, node));
  return !messages.empty();
}

void Controller::end_by_user(Time now, const Caller& caller, Job& job, bool at_once) {
  Outcome outcome;
  outcome.end = JobState::kCancelled;
  outcome.reason = model::EndReason::kCancelledByUser;
  outcome.cancelled_by = caller.uid;
  outcome.detail = "by " + caller.user;
  if (at_once) outcome.grace = base::Duration{};
  out_.job_event(now, job, "cancelled", fmt::format("by {}{}", caller.user, at_once ? ", without grace" : ""),
                 caller.uid);
  if (job.waiting() != nullptr) return end_pending(now, job, JobState::kCancelled, std::move(outcome));
  if (job.state != JobState::kCompleting) return stop(now, job, std::move(outcome));
  Outcome& ending = *job.placed()->outcome;
  ending.requeue = false;  // it is ending already: but it does not come back
  if (ending.end == JobState::kNodeFail) ending.end = JobState::kCancelled;
  if (at_once) ending.grace = base::Duration{};
  rows_.job(job);
  if (!at_once) return;
  expect_end(job, job.placed()->kill_sent, true);  // as a restart would say
  for (const NodeId node : job.placed()->waiting_for) send_stop(job, node, true);
}

void Controller::job_action(Time now, ConnId conn, const Caller& caller, const wire::ApiRequest& request) {
  wire::ApiReply out;
  wire::JobsReply& jobs = *out.mutable_jobs();
  const auto ids = job_ids(request.job_action().ids());
  // Those named come first: what is done to them is done to the others, and only they can fail.
  std::vector<uint32_t> order(ids.begin(), ids.end());
  for (uint32_t id : with_components(ids))
    if (!ids.contains(id)) order.push_back(id);
  for (uint32_t id : order) {
    Job* job = jobs_.find(JobId(id));
    base::Status done = tl::unexpected(no_such_job(JobId(id)));
    if (job != nullptr) done = act_on(now, caller, *job, request.job_action().action());
    if (!ids.contains(id)) continue;  // a component of one that is named
    if (done) {
      jobs.add_done(id);
      continue;
    }
    wire::JobFault& fault = *jobs.add_faults();
    fault.set_id(id);
    *fault.mutable_error() = wire::to_wire(done.error());
  }
  reply_change(now, conn, caller, request, std::move(out));
}

base::Status Controller::act_on(Time now, const Caller& caller, Job& job, wire::JobAction action) {
  if (!is_allowed(Grant::kOwnJobs, role_for(caller, job))) return tl::unexpected(denied_job(job));
  if (model::is_end(job.state))
    return base::fail(base::ErrorCode::kConflict,
                      fmt::format("job {} has ended already: {}", job.id.value, model::long_name(job.state)));
  switch (action) {
    case wire::kHold:
      return hold(now, caller, job, role_for(caller, job) == Role::kAdmin);
    case wire::kUserHold:
      return hold(now, caller, job, false);
    case wire::kRelease:
      return release(now, caller, job);
    case wire::kRequeue:
      return requeue_on_request(now, caller, job, false);
    case wire::kRequeueHold:
      return requeue_on_request(now, caller, job, true);
    case wire::kSuspend:
      return suspend_on_request(now, caller, job);
    case wire::kResume:
      return resume_on_request(now, caller, job);
    default:
      return base::invalid("unknown action");
  }
}

base::Status Controller::hold(Time now, const Caller& caller, Job& job, bool by_admin) {
  if (job.waiting() == nullptr)
    return base::fail(base::ErrorCode::kConflict, fmt::format("job {} is not pending", job.id.value),
                      "use requeuehold to stop it and hold it");
  // An administrator who holds an own job holds it as a user, so that it can be released as one.
  (by_admin && caller.uid != job.spec.uid ? job.spec.hold_admin : job.spec.hold_user) = true;
  consider(now, job);
  rows_.job_and_spec(job);
  out_.job_event(now, job, "held", "by " + caller.user, caller.uid);
  return {};
}

base::Status Controller::release(Time now, const Caller& caller, Job& job) {
  if (job.waiting() == nullptr) return {};
  if (job.spec.hold_admin && role_for(caller, job) != Role::kAdmin)
    return base::fail(base::ErrorCode::kDenied, fmt::format("job {} is held by an administrator", job.id.value));
  if (!job.is_held()) return {};
  job.spec.hold_admin = job.spec.hold_user = false;
  job.waiting()->not_before = {};
  job.launch_failures = 0;
  for (Job* other : siblings(job)) other->launch_failures = 0;
  consider(now, job);
  rows_.job_and_spec(job);
  out_.job_event(now, job, "released", "by " + caller.user, caller.uid);
  return {};
}

base::Status Controller::requeue_on_request(Time now, const Caller& caller, Job& job, bool then_hold) {
  if (job.waiting() != nullptr) {
    if (!then_hold)
      return base::fail(
          base::ErrorCode::kConflict,
          fmt::format("job {} is pending: it is in the queue already, nothing is to be requeued", job.id.value),
          job.is_held() ? "it is held: gcontrol release " + job.id.text() : "");
    return hold(now, caller, job, false);
  }
  if (!job.spec.requeue)
    return base::fail(base::ErrorCode::kConflict, fmt::format("job {} was submitted with --no-requeue", job.id.value),
                      "gcontrol update JobId=... Requeue=1 first");
  if (job.state == JobState::kCompleting)
    return base::fail(base::ErrorCode::kConflict, fmt::format("job {} is completing", job.id.value));
  if (then_hold) {
    std::vector<Job*> all = siblings(job);
    all.push_back(&job);
    for (Job* one : all) {
      one->spec.hold_user = true;
      rows_.job_and_spec(*one);
    }
  }
  Outcome outcome;
  outcome.end = JobState::kCancelled;
  outcome.reason = model::EndReason::kCancelledByUser;
  outcome.cancelled_by = caller.uid;
  outcome.detail = "requeued by " + caller.user;
  outcome.requeue = true;
  stop(now, job, std::move(outcome));
  return {};
}

}  // namespace gw::ctld
