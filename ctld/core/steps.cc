// Steps: made inside the allocation of a job that runs, told to its nodes, answered when their shepherds are ready,
// kept until the last node says that nothing of them is left. What is to run only the client and the shepherds know.
#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "base/reach.h"
#include "base/text.h"
#include "ctld/core/controller.h"
#include "ctld/core/names.h"
#include "ctld/core/step_shares.h"
#include "wire/convert.h"
#include "wire/gang.h"

namespace gw::ctld {

using model::Job;
using model::JobState;
using model::Step;
using model::StepNode;

namespace {

constexpr size_t kKeyBytes = 32;
// A step has a process of its own on each node, whether or not it takes cores.
constexpr size_t kMostAtOnce = 1000;      // of one job
constexpr size_t kMostWaiting = 1000;     // likewise
constexpr int64_t kMostOfOneJob = 100;    // waiting, of one connection
constexpr size_t kMaxRequest = 64 << 10;  // bytes
constexpr uint32_t kMostSteps = 4'000'000'000;

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

int severity(const model::ExitStatus& exit) { return exit.signo != 0 ? 128 + exit.signo : exit.code; }

}  // namespace

void Controller::step_request(Time now, ConnId conn, const Caller& caller, const wire::ApiRequest& request) {
  if (request.has_create_step()) return create_step(now, conn, caller, request);
  if (request.has_ticket()) return give_ticket(now, conn, caller, request);
  if (request.has_end_allocation()) return end_allocation(now, conn, caller, request);
  if (request.has_signal_step()) return signal_step(now, conn, caller, request);
  list_steps(now, conn, request);
}

base::Result<Job*> Controller::job_for_step(const Caller& caller, uint32_t id) {
  Job* job = jobs_.find(JobId(id));
  if (job == nullptr) return tl::unexpected(no_such_job(JobId(id)));
  if (!is_allowed(Grant::kOwnJobs, role_for(caller, *job))) return tl::unexpected(denied_job(*job));
  return job;
}

base::Status Controller::may_begin_step(const Caller& caller, const Job& job,
                                        const wire::CreateStepRequest& request) const {
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

void Controller::create_step(Time now, ConnId conn, const Caller& caller, const wire::ApiRequest& request) {
  const wire::CreateStepRequest& create = request.create_step();
  const auto job = job_for_step(caller, create.job_id());
  if (!job) return out_.refuse(conn, request.id(), job.error());
  const base::Status may = may_begin_step(caller, **job, create);
  if (!may) return out_.refuse(conn, request.id(), may.error());
  for (Step* step : steps_.of((*job)->id))
    if (step->client_key == create.client_key() && !step->is_ending)
      return answer_when_ready(now, *step, {conn, request.id()});
  if (const auto waits = waiting_steps_.find((*job)->id); waits != waiting_steps_.end())
    for (StepWait& wait : waits->second) {  // it asks again over another connection
      if (wait.client_key != create.client_key()) continue;
      wait.conn = conn;
      wait.request_id = request.id();
      return;
    }
  auto asked = wire::from_wire(create.step());
  if (!asked) return out_.refuse(conn, request.id(), asked.error());
  StepWait wait{conn, request.id(), std::move(*asked), create.client_key()};
  if (steps_.count_of((*job)->id) >= kMostAtOnce)
    return out_.refuse(
        conn, request.id(),
        {base::ErrorCode::kUnavailable, fmt::format("job {} has {} steps at once", create.job_id(), kMostAtOnce),
         "wait until some have ended"});
  auto& line = waiting_steps_[(*job)->id];
  const auto of_conn = std::count_if(line.begin(), line.end(), [&](const StepWait& w) { return w.conn == conn; });
  // Those that came first go first; who shares is in nobody's way.
  const bool runs = (*job)->state == JobState::kRunning;
  const bool may_go = runs && (line.empty() || wait.request.overlap);
  const base::Result<bool> begun = may_go ? begin_step(now, **job, wait) : base::Result<bool>(false);
  if (!begun) out_.refuse(conn, request.id(), begun.error());
  if (begun && !*begun && (create.immediate() || line.size() >= kMostWaiting || of_conn >= kMostOfOneJob))
    out_.refuse(conn, request.id(),
                {base::ErrorCode::kUnavailable,
                 runs ? "unable to create the step now: other steps of the job have what it asks for"
                      : "unable to create the step now: the job is about to start",
                 runs ? "leave --immediate out to wait, or share with --overlap" : "leave --immediate out to wait"});
  else if (begun && !*begun)
    line.push_back(std::move(wait));
  if (line.empty()) waiting_steps_.erase((*job)->id);
}

/// What a job that is one step has to run, told with the job: nobody waits for the answer yet.
base::Result<std::optional<Controller::StepWait>> Controller::accept_first_step(ConnId conn, const model::JobSpec& spec,
                                                                                const wire::SubmitRequest& submit) {
  if (!submit.has_first_step()) return std::nullopt;
  if (spec.kind != model::JobKind::kStep || submit.components_size() > 0)
    return base::invalid("only a job that is one step begins with a step");
  GW_TRY_STATUS(check_step_request(submit.first_step()));
  GW_TRY(request, wire::from_wire(submit.first_step().step()));
  return StepWait{conn, 0, std::move(request), submit.first_step().client_key()};
}

/// The first step of a job that is one step has all of it.
void Controller::begin_first_step(Time now, Job& job) {
  const auto line = waiting_steps_.find(job.id);
  if (line == waiting_steps_.end()) return;
  model::StepRequest& request = line->second.front().request;
  const model::Allocation& allocation = job.placed()->allocation;
  request.min_nodes = request.max_nodes = static_cast<uint32_t>(allocation.shares.size());
  if (request.tasks == 0)
    for (const model::NodeShare& share : allocation.shares) request.tasks += share.tasks;
  begin_waiting_steps(now, job);
}

/// Not what is still to join an elastic gang, or about to leave it.
model::Allocation Controller::usable_by_steps(const Job& job) {
  model::Allocation usable = job.placed()->allocation;
  const auto& pieces = job.placed()->pieces;
  std::erase_if(usable.shares, [&](const model::NodeShare& share) {
    const auto piece = pieces.find(share.node);
    return piece != pieces.end() && (!piece->second.is_ready || piece->second.until);
  });
  return usable;
}

/// True: it begins. False: it has to wait. Errors: it could never run here.
base::Result<bool> Controller::begin_step(Time now, Job& job, const StepWait& wait) {
  Taken taken;
  for (Step* step : steps_.of(job.id)) take(*step, taken);
  const auto topology_of = [this](NodeId node) { return nodes_.at(node).topology.get(); };
  GW_TRY(shares, divide(usable_by_steps(job), wait.request, taken, topology_of));
  if (shares.empty()) return false;
  model::Placed& placed = *job.placed();
  if (placed.next_step >= kMostSteps)
    return base::fail(base::ErrorCode::kUnavailable, fmt::format("job {} has had too many steps", job.id.value));
  Step step;
  step.job = job.id;
  step.attempt = job.attempt;
  step.number = placed.next_step++;
  step.uid = job.spec.uid;
  step.client_key = wait.client_key;
  step.request = wait.request;
  step.created = now;
  for (model::NodeShare& share : shares) step.nodes.push_back({std::move(share), {}, {}, false});
  const Step& kept = steps_.keep(std::move(step));
  rows_.job(job);
  rows_.step_and_nodes(kept);
  if (wait.request_id != 0) step_waiters_.emplace(std::pair(job.id, kept.number), Waiter{wait.conn, wait.request_id});
  const wire::StartStep common = start_of(now, job, kept);
  for (size_t i = 0; i < kept.nodes.size(); ++i) send_start_step(job, kept, i, common);
  return true;
}

/// What all its nodes are told of a step.
wire::StartStep Controller::start_of(Time now, const Job& job, const Step& step) const {
  wire::StartStep start;
  *start.mutable_job() = prepare_of(now, job);
  start.set_step(step.number + 1);
  std::vector<const model::NodeShare*> shares;
  for (const StepNode& node : step.nodes) shares.push_back(&node.share);
  *start.mutable_gang() = wire::gang_of(shares);
  *start.mutable_request() = wire::to_wire(step.request);
  start.mutable_request()->clear_nodelist();  // as with the job
  start.mutable_request()->clear_exclude();
  return start;
}

void Controller::send_start_step(const Job& job, const Step& step, size_t index, const wire::StartStep& common) {
  const model::NodeShare& share = step.nodes[index].share;
  wire::ControllerToNode message;
  wire::StartStep& start = *message.mutable_start_step();
  start = common;
  complete_for(job, share.node, *start.mutable_job());
  *start.mutable_share() = wire::to_wire(share);
  start.mutable_gang()->set_node_id(static_cast<uint32_t>(index));
  send_to_node(share.node, std::move(message));
}

base::Duration Controller::kill_wait_of(const Step& step) const {
  const model::Job* job = jobs_.find(step.job);
  const model::Placed* placed = job == nullptr ? nullptr : job->placed();
  return placed == nullptr ? settings_.kill_wait : placed->contract.kill_wait;
}

/// The nodes that are still at it are told to end it.
void Controller::stop_step(Step& step, base::Duration grace) {
  step.is_ending = true;
  step.is_killed |= grace.us <= 0;
  for (const StepNode& node : step.nodes)
    if (!node.is_gone) stop_step_on(step, node.share.node, grace);
}

void Controller::stop_step_on(const Step& step, NodeId node, base::Duration grace) {
  wire::ControllerToNode message;
  wire::Stop& s = *message.mutable_stop();
  s.set_job(step.job.value);
  s.set_attempt(step.attempt);
  s.set_step(step.number + 1);
  s.set_grace_us(grace.us);
  s.set_kill_now(grace.us <= 0);
  send_to_node(node, std::move(message));
}

void Controller::answer_when_ready(Time now, const Step& step, const Waiter& waiter) {
  if (!step.is_ready()) {
    const auto waits = std::count_if(step_waiters_.begin(), step_waiters_.end(),
                                     [&](const auto& entry) { return entry.second.conn == waiter.conn; });
    if (waits >= kMostOfOneJob)
      return out_.refuse(waiter.conn, waiter.request_id,
                         {base::ErrorCode::kInvalid, "this connection waits for 100 steps already", ""});
    step_waiters_.emplace(std::pair(step.job, step.number), waiter);
    return;
  }
  send_ticket(now, step, waiter.conn, waiter.request_id, step.client_key, false);
}

void Controller::send_ticket(Time now, const Step& step, ConnId conn, uint64_t request_id,
                             const std::string& client_key, bool watch) {
  const Job* job = jobs_.find(step.job);
  SignTicket out;
  out.conn = conn;
  out.reply.set_id(request_id);
  *out.reply.mutable_step()->mutable_step() = wire::to_wire(step);
  out.reply.mutable_step()->mutable_step()->clear_client_key();
  out.reply.mutable_step()->set_now_us(now.us);
  out.uid = step.uid;
  out.gid = job == nullptr ? 0 : job->spec.gid;
  out.job = step.job.value;
  out.attempt = step.attempt;
  out.step = step.number;
  // Nodes that joined later know the stay that they are in; one ticket is good for all of them.
  for (const StepNode& node : step.nodes)
    if (job != nullptr) out.generation = std::max(out.generation, generation_on(*job, node.share.node));
  out.watch = watch;
  out.client_key = client_key;
  out.now = now;
  out_.send(std::move(out));
}

void Controller::give_ticket(Time now, ConnId conn, const Caller& caller, const wire::ApiRequest& request) {
  const wire::TicketRequest& asked = request.ticket();
  const auto job = job_for_step(caller, asked.job_id());
  if (!job) return out_.refuse(conn, request.id(), job.error());
  const Step* step = steps_.find(**job, asked.step());
  if (step == nullptr || !step->is_ready()) return out_.refuse(conn, request.id(), no_such_step(**job, asked.step()));
  if (asked.client_key().size() != kKeyBytes)
    return out_.refuse(conn, request.id(), {base::ErrorCode::kInvalid, "the key of the client has not 32 bytes", ""});
  // What is typed runs as the owner: nobody else may type.
  if (caller.uid != step->uid && !asked.watch())
    return out_.refuse(conn, request.id(),
                       {base::ErrorCode::kDenied, fmt::format("step {} belongs to {}", step->text(), (*job)->spec.user),
                        "others may only watch"});
  send_ticket(now, *step, conn, request.id(), asked.client_key(), asked.watch());
}

void Controller::list_steps(Time now, ConnId conn, const wire::ApiRequest& request) {
  const auto ids = job_ids(request.list_steps().job_ids());
  auto fill = [this, ids, last = StepKey{JobId(), 0}](Time at, ListPiece& piece) mutable {
    wire::ListStepsReply& list = *piece.reply.mutable_list_steps();
    list.set_now_us(at.us);
    for (auto it = steps_.all().upper_bound(last); it != steps_.all().end(); ++it) {
      if (piece.is_full()) return false;
      last = it->first;
      piece.looked_at();
      if (!ids.empty() && !ids.contains(last.first.value)) continue;
      wire::Step& shown = *list.add_steps() = wire::to_wire(it->second);
      shown.clear_client_key();
      for (wire::StepNode& node : *shown.mutable_nodes()) node.clear_key();
      piece.added(shown.ByteSizeLong());
    }
    return true;
  };
  begin_list(now, conn, request.id(), std::move(fill));
}

void Controller::signal_step(Time now, ConnId conn, const Caller& caller, const wire::ApiRequest& request) {
  const wire::SignalStepRequest& asked = request.signal_step();
  const auto job = job_for_step(caller, asked.job_id());
  if (!job) return out_.refuse(conn, request.id(), job.error());
  Step* step = steps_.find(**job, asked.step());
  // One that is over is what was wanted; but a signal should reach somebody.
  const bool has_ended = step == nullptr && (*job)->placed() != nullptr && asked.step() < (*job)->placed()->next_step;
  if (has_ended && asked.signo() == 0)
    return out_.refuse(
        conn, request.id(),
        {base::ErrorCode::kConflict, fmt::format("step {}.{} has ended already", (*job)->id.value, asked.step()), ""});
  if (step == nullptr) return out_.refuse(conn, request.id(), no_such_step(**job, asked.step()));
  constexpr int kMaxSignal = 64;
  if (asked.signo() < 0 || asked.signo() > kMaxSignal)
    return out_.refuse(conn, request.id(),
                       {base::ErrorCode::kInvalid, fmt::format("signal {} does not exist", asked.signo()), ""});
  if (asked.signo() == 0) {
    stop_step(*step, kill_wait_of(*step));
    rows_.step(*step);
  }
  NodeMessages messages;
  if (asked.signo() != 0) ctld::signal_step(*step, asked.signo(), messages);
  for (auto& [node, message] : messages) send_to_node(node, std::move(message));
  out_.job_event(now, **job, asked.signo() == 0 ? "step cancelled" : "step signalled",
                 fmt::format("step {} by {}", step->text(), caller.user), caller.uid);
  wire::ApiReply out;
  out.mutable_ok();
  reply_change(now, conn, caller, request, std::move(out));
}

// --- what nodes say ---

void Controller::step_prepared(Time now, NodeId node, const wire::Prepared& m) {
  const StepAt at = steps_.at(node, m.job(), m.attempt(), m.step());
  if (at.node == nullptr || at.node->is_gone) return;
  shepherd_ready(now, *at.step, *at.node, m.address(), m.key());
}

void Controller::shepherd_ready(Time now, Step& step, StepNode& node, const std::string& address,
                                const std::string& key) {
  if (step.is_ending)
    return stop_step_on(step, node.share.node, step.is_killed ? base::Duration{} : kill_wait_of(step));
  if (key.size() != kKeyBytes) {
    out_.note(fmt::format("step {}: node {} gave no key: ended", step.text(), nodes_.name_of(node.share.node)), true);
    return fail_step(step, fmt::format("node {} gave no key", nodes_.name_of(node.share.node)));
  }
  if (node.address.empty()) ++step.ready_nodes;
  node.address = base::reachable_address(address, nodes_.at(node.share.node).peer_address);
  node.key = key;
  if (step.ready_nodes < step.nodes.size()) return;
  if (!step.is_ready()) step.started = now;
  const auto range = step_waiters_.equal_range({step.job, step.number});
  for (auto it = range.first; it != range.second; ++it)
    send_ticket(now, step, it->second.conn, it->second.request_id, step.client_key, false);
  step_waiters_.erase(range.first, range.second);
}

void Controller::lose_part(Step& step) {
  const bool is_news = severity(step.exit) == 0 || !step.is_ending;
  if (severity(step.exit) == 0) step.exit.code = 1;
  if (!step.is_ending) stop_step(step, kill_wait_of(step));
  if (is_news) rows_.step_coalesced(step);
}

/// It cannot run: whoever waits for it is told, and what has begun of it is ended.
void Controller::fail_step(Step& step, const std::string& why) {
  const bool is_news = step.detail.empty() || severity(step.exit) == 0 || !step.is_killed;
  if (step.detail.empty()) step.detail = why;
  tell_step_waiters(step, {base::ErrorCode::kUnavailable, "the step could not start: " + why, ""});
  if (severity(step.exit) == 0) step.exit.code = 1;
  if (!step.is_killed) stop_step(step, {});  // each node of a large one may say that it failed
  if (is_news) rows_.step(step);
}

void Controller::tell_step_waiters(const Step& step, const base::Error& error) {
  const auto range = step_waiters_.equal_range({step.job, step.number});
  for (auto it = range.first; it != range.second; ++it) out_.refuse(it->second.conn, it->second.request_id, error);
  step_waiters_.erase(range.first, range.second);
}

void Controller::step_failed(Time now, NodeId node, const wire::PrepareFailed& m) {
  const StepAt at = steps_.at(node, m.job(), m.attempt(), m.step());
  if (at.node == nullptr || at.node->is_gone) return;
  fail_step(*at.step, fmt::format("on {}: {}", nodes_.name_of(node), base::printable(m.detail(), 1000)));
  step_left_node(now, *at.step, *at.node);
}

void Controller::step_exited(NodeId node, const wire::BatchExited& m) {
  const StepAt at = steps_.at(node, m.job(), m.attempt(), m.step());
  if (at.node != nullptr) {
    const auto known = [&] {
      return std::tuple(at.step->exit, at.step->detail, at.step->is_out_of_memory, at.step->is_lease_over);
    };
    const auto before = known();
    const model::ExitStatus exit{m.exit_code() & 0xff, m.exit_signo()};
    if (severity(exit) > severity(at.step->exit)) at.step->exit = exit;
    if (at.step->detail.empty() && !m.detail().empty())
      at.step->detail = fmt::format("on {}: {}", nodes_.name_of(node), base::printable(m.detail(), 1000));
    if (m.oom()) at.step->detail = fmt::format("out of memory on {}; ask for more with --mem", nodes_.name_of(node));
    at.step->is_out_of_memory |= m.oom();
    if ((m.oom() || m.reason() != 0) && severity(at.step->exit) == 0) at.step->exit.code = 1;  // that is no success
    // What its tasks come to is the client's business; a part that was lost ends the whole.
    const bool is_lease_over = m.reason() == static_cast<uint32_t>(model::EndReason::kLeaseExpired);
    at.step->is_lease_over |= is_lease_over;
    if (m.reason() == static_cast<uint32_t>(model::EndReason::kShepherdDied) || is_lease_over) lose_part(*at.step);
    if (known() != before) rows_.step_coalesced(*at.step);
  }
  acknowledge_step(node, m.job(), m.attempt(), m.step(), wire::kRunEnding);
}

void Controller::step_done(Time now, NodeId node, const wire::Done& m) {
  const StepAt at = steps_.at(node, m.job(), m.attempt(), m.step());
  if (at.node != nullptr && !at.node->is_gone) {
    if (!m.problem().empty())
      out_.node_event(now, nodes_.at(node), "cleanup problem",
                      fmt::format("step {}: {}", at.step->text(), base::printable(m.problem(), 1000)));
    step_left_node(now, *at.step, *at.node);
  }
  acknowledge_step(node, m.job(), m.attempt(), m.step(), wire::kRunDone);
}

void Controller::acknowledge_step(NodeId node, uint32_t job, uint32_t attempt, uint32_t step, wire::RunPhase phase) {
  wire::ControllerToNode ack;
  ack.mutable_ack()->set_job(job);
  ack.mutable_ack()->set_attempt(attempt);
  ack.mutable_ack()->set_step(step);
  ack.mutable_ack()->set_phase(phase);
  send_to_node(node, std::move(ack));
}

/// Nothing of the step is left on a node; with the last one it is over.
void Controller::step_left_node(Time now, Step& step, StepNode& node) {
  steps_.left(step, node);
  rows_.step_node(step, node.share.node);
  if (!step.is_ready() && !step.is_ending)
    fail_step(step, fmt::format("it ended early on {}", nodes_.name_of(node.share.node)));
  if (step.gone_nodes == step.nodes.size()) step_over(now, step);
}

void Controller::step_over(Time now, const Step& ended) {
  const Step step = ended;
  Job* job = jobs_.find(step.job);
  tell_step_waiters(step, {base::ErrorCode::kUnavailable, "the step has ended: " + step.detail, ""});
  drop_step({step.job, step.number});
  if (job == nullptr || job->attempt != step.attempt) return;
  out_.job_event(now, *job, model::kStepEnded, model::end_line(step));
  // A look into the job by another step leaves it alone.
  const bool is_all = job->spec.kind == model::JobKind::kStep && step.number == 0;
  if (is_all && job->state != JobState::kCompleting) return end_with_step(now, *job, step);
  begin_waiting_steps(now, *job);
}

void Controller::begin_waiting_steps(Time now, Job& job) {
  const auto line = waiting_steps_.find(job.id);
  if (line == waiting_steps_.end()) return;
  while (!line->second.empty() && job.state == JobState::kRunning) {
    const StepWait& first = line->second.front();
    const auto begun = begin_step(now, job, first);
    if (begun && !*begun) return;
    if (!begun && first.request_id != 0) out_.refuse(first.conn, first.request_id, begun.error());
    line->second.pop_front();
  }
  if (line->second.empty()) waiting_steps_.erase(line);
}

/// A client has gone: what it waited for is not begun, or ended, and others may have its place.
void Controller::forget_step_waiters(Time now, ConnId conn) {
  std::set<StepKey> left;
  for (auto it = step_waiters_.begin(); it != step_waiters_.end();) {
    if (it->second.conn == conn) left.insert(it->first);
    it = it->second.conn == conn ? step_waiters_.erase(it) : std::next(it);
  }
  for (const StepKey& key : left) {
    Step* step = steps_.find(key);
    if (step == nullptr || step_waiters_.contains(key) || step->is_ready()) continue;
    stop_step(*step, {});
    rows_.step(*step);
  }
  std::set<JobId> jobs;
  for (auto& [job, line] : waiting_steps_)
    if (std::erase_if(line, [&](const StepWait& wait) { return wait.conn == conn; }) > 0) jobs.insert(job);
  for (const JobId id : jobs)
    if (Job* job = jobs_.find(id)) begin_waiting_steps(now, *job);
}

/// The run of a job is over or about to be: nobody waits for steps of it any more.
void Controller::refuse_steps(const Job& job, const std::string& why) {
  const base::Error error{base::ErrorCode::kConflict, fmt::format("job {} is ending: {}", job.id.value, why), ""};
  if (const auto line = waiting_steps_.find(job.id); line != waiting_steps_.end()) {
    for (const StepWait& wait : line->second)
      if (wait.request_id != 0) out_.refuse(wait.conn, wait.request_id, error);
    waiting_steps_.erase(line);
  }
  for (Step* step : steps_.of(job.id)) {
    tell_step_waiters(*step, error);
    step->is_ending = true;  // the nodes end them with the job
  }
}

/// The run is over on every node.
void Controller::drop_steps(JobId id) {
  for (const Step* step : steps_.of(id)) drop_step({id, step->number});
}

void Controller::drop_step(StepKey key) {
  rows_.step_over(key);
  steps_.drop(key);
}

/// The node has nothing of the job left, so nothing of its steps either.
void Controller::steps_left(Time now, JobId id, NodeId node) {
  for (const StepKey& key : steps_.on(node, id)) {
    const Step* step = steps_.find(key);
    if (step == nullptr) continue;  // ended by what another one came to
    const StepAt at = steps_.at(node, id.value, step->attempt, key.second + 1);
    if (at.node == nullptr || at.node->is_gone) continue;
    lose_part(*at.step);
    step_left_node(now, *at.step, *at.node);
  }
}

// --- restarts ---

namespace {

/// `completed`: whether what its nodes have could be put into `stored`.
base::Result<Step> read_step(const wire::Step& stored, const base::Status& completed, const wire::NodeLookup& lookup) {
  if (!completed) return tl::unexpected(completed.error());
  GW_TRY(step, wire::from_wire(stored, lookup));
  std::set<NodeId> nodes;
  for (const StepNode& node : step.nodes)
    if (!node.is_gone && (!node.share.node || !nodes.insert(node.share.node).second))
      return base::fail(base::ErrorCode::kInternal,
                        "it runs on node " + node.share.name + " twice, or nobody knows it");
  return step;
}

}  // namespace

void Controller::restore_steps(const store::Snapshot& snapshot, Time now, const RunRows& runs,
                               const RunRows::Unread& unread, const std::function<NodeId(std::string_view)>& lookup) {
  for (const store::PutStep& row : snapshot.steps) {
    if (held_.has_job(row.job.value)) continue;  // it went with its job
    wire::Step stored;
    const bool is_read =
        stored.ParseFromString(row.bytes) && stored.job() == row.job.value && stored.step() == row.step;
    const Job* job = jobs_.find(row.job);
    if (job == nullptr || job->placed() == nullptr || (is_read && job->attempt != stored.attempt())) {
      rows_.step_over({row.job, row.step});
      continue;
    }
    const bool has_runs = !unread.contains({row.job, row.step + 1});
    auto step = read_step(stored, is_read && has_runs ? runs.complete(row, stored) : base::invalid("it cannot be read"),
                          lookup);
    if (!step) {
      hold_step(snapshot, now, row, step.error().what);
      continue;
    }
    if (job->state == JobState::kCompleting) step->is_ending = true;
    for (StepNode& node : step->nodes) node.address.clear();  // they say it when they are back
    const Step& kept = steps_.keep(std::move(*step));
    if (!runs.has(row.job, row.step + 1)) rows_.step_and_nodes(kept);  // stored before runs had rows of their own
  }
}

void Controller::want_steps(NodeId node, wire::Registered& out) {
  for (const StepKey& key : steps_.on(node)) {
    wire::RunState& wanted = *out.add_wanted();
    wanted.set_job(key.first.value);
    wanted.set_attempt(steps_.find(key)->attempt);
    wanted.set_step(key.second + 1);
  }
}

/// Compares the steps that a node lists with those that it should have.
void Controller::reconcile_steps(Time now, const model::Node& node, const wire::Register& m, bool rebooted) {
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, const wire::RunState*> has;
  for (const wire::RunState& run : m.runs())
    if (run.step() != 0) has[{run.job(), run.attempt(), run.step()}] = &run;
  for (const StepKey& key : steps_.on(node.id)) {
    const Step* step = steps_.find(key);
    if (step == nullptr) continue;  // ended by what another one of them came to
    const StepAt at = steps_.at(node.id, key.first.value, step->attempt, key.second + 1);
    if (at.node == nullptr || at.node->is_gone) continue;
    const auto run = has.find({key.first.value, step->attempt, key.second + 1});
    const Job* job = jobs_.find(key.first);
    if (run == has.end()) {
      const bool is_new = !at.step->is_ready() && at.node->address.empty() && !at.step->is_ending && !rebooted;
      if (is_new && job != nullptr && job->state == JobState::kRunning && placements_.is_on(node.id, job->id)) {
        send_start_step(*job, *at.step, static_cast<size_t>(at.node - at.step->nodes.data()),
                        start_of(now, *job, *at.step));
      } else {
        if (at.step->detail.empty()) at.step->detail = fmt::format("node {} no longer has it", node.config.name);
        lose_part(*at.step);
        step_left_node(now, *at.step, *at.node);
      }
    } else if (at.step->is_ending) {
      stop_step_on(*at.step, node.id, at.step->is_killed ? base::Duration{} : kill_wait_of(*at.step));
    } else if (!run->second->address().empty()) {
      shepherd_ready(now, *at.step, *at.node, run->second->address(), run->second->key());
    }
  }
}

}  // namespace gw::ctld
