// Shares, outcomes and the changing part of a job.
#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "base/hostlist.h"
#include "base/text.h"
#include "model/find_on.h"
#include "wire/convert.h"
#include "wire/waits.h"

namespace gw::wire {
namespace {

using base::ErrorCode;
using base::fail;

constexpr int kMaxShares = 200'000;

template <typename Message>
void add_shares(Message* message, const model::Allocation& a) {
  for (const model::NodeShare& s : a.shares) *message->add_shares() = to_wire(s);
}

template <typename Message>
base::Result<model::Allocation> shares_of(const Message& message, const NodeLookup& lookup) {
  if (message.shares_size() > kMaxShares) return fail(ErrorCode::kProtocol, "a job with too many nodes");
  model::Allocation a;
  a.shares.reserve(static_cast<size_t>(message.shares_size()));
  for (const NodeShare& w : message.shares()) {
    GW_TRY(share, from_wire(w, lookup));
    a.shares.push_back(std::move(share));
  }
  return a;
}

std::string name_of(base::NodeId id, const model::Allocation& a, const NodeNamer& namer) {
  const auto share = model::find_on(a.shares, id, [](const model::NodeShare& s) { return s.node; });
  if (share != a.shares.end()) return share->name;
  return namer ? namer(id) : std::string();
}

void set_nomination(Nomination* w, const model::Nomination& nomination) {
  w->set_partition(nomination.partition);
  add_shares(w, nomination.allocation);
  w->set_when_us(nomination.when.us);
  for (const model::KeptPlace& part : nomination.components) {
    KeptPlace* kept = w->add_components();
    kept->set_partition(part.partition);
    add_shares(kept, part.allocation);
  }
}

base::Result<model::Nomination> nomination_from(const Nomination& w, const NodeLookup& lookup) {
  GW_TRY(allocation, shares_of(w, lookup));
  model::Nomination out{w.partition(), std::move(allocation), {w.when_us()}};
  for (const KeptPlace& part : w.components()) {
    GW_TRY(kept, shares_of(part, lookup));
    out.components.push_back({part.partition(), std::move(kept)});
  }
  return out;
}

void set_suspension(Placed* w, const model::Placed& p) {
  w->set_not_preemptible(!p.preemptible);
  w->set_suspensions(p.suspensions);
  w->set_next_step(p.next_step);
  w->set_stood_still_us(p.stood_still.us);
  if (!p.suspension) return;
  const model::Suspension& s = *p.suspension;
  Suspension* to = w->mutable_suspension();
  to->set_kept_id(s.kept_id.value);
  to->set_since_us(s.since.us);
  to->set_for_job(s.for_job);
  to->set_rule(s.rule);
  to->set_is_held(s.is_held);
  to->set_who(s.who);
  to->set_freeze_at_us(s.freeze_at.us);
  to->set_shares_gpus(s.shares_gpus);
  to->set_is_turn(s.is_turn);
}

std::optional<model::Suspension> suspension_from(const Placed& w) {
  if (!w.has_suspension()) return std::nullopt;
  const Suspension& s = w.suspension();
  return model::Suspension{base::JobId(s.kept_id()), {s.since_us()},  s.for_job(), s.rule(), s.is_held(), s.who(),
                           {s.freeze_at_us()},       s.shares_gpus(), s.is_turn()};
}

void set_contract(Contract* to, const model::Contract& c) {
  to->set_lease_us(c.lease.us);
  to->set_margin_us(c.margin.us);
  to->set_kill_wait_us(c.kill_wait.us);
  to->set_allow_root(c.allow_root);
  to->set_has_prolog(c.has_prolog);
  to->set_has_epilog(c.has_epilog);
  if (c.placed_in.says_anything()) *to->mutable_placed_in() = to_wire(c.placed_in);
}

model::Contract contract_from(const Placed& w) {
  const Contract& c = w.contract();
  return {{c.lease_us()}, {c.margin_us()}, {c.kill_wait_us()},      c.allow_root(),
          c.has_prolog(), c.has_epilog(),  from_wire(c.placed_in())};
}

void set_extension(Extension* w, const model::Extension& extension) {
  w->set_id(extension.id.value);
  w->set_until_us(extension.until.us);
  w->set_is_ready(extension.is_ready);
}

/// What each node has of the run and has said.
void set_nodes(Placed* w, const model::Placed& p, const NodeNamer& namer) {
  add_shares(w, p.allocation);
  for (base::NodeId id : p.waiting_for) w->add_waiting_for(name_of(id, p.allocation, namer));
  for (base::NodeId id : p.unreachable) w->add_unreachable(name_of(id, p.allocation, namer));
  for (const auto& [node, extension] : p.extensions) {
    Extension* to = w->add_extensions();
    set_extension(to, extension);
    to->set_node(name_of(node, p.allocation, namer));
  }
}

/// All but that.
void set_placed(Placed* w, const model::Placed& p) {
  w->set_partition(p.partition);
  w->set_placed_us(p.placed.us);
  w->set_started_us(p.started.us);
  if (p.outcome) *w->mutable_outcome() = to_wire(*p.outcome);
  w->set_kill_sent_us(p.kill_sent.us);
  w->set_warned(p.warned);
  set_contract(w->mutable_contract(), p.contract);
  w->set_gpu_types(p.gpu_types);
  w->set_uncut_limit_us(p.uncut_limit.us);
  w->set_program(static_cast<uint32_t>(p.program));
  w->set_saved_us(p.saved.us);
  if (p.moves_to) set_nomination(w->mutable_moves_to(), *p.moves_to);
  set_suspension(w, p);
}

template <typename Names>
base::Result<std::set<base::NodeId>> ids_of(const Names& names, const NodeLookup& lookup) {
  std::set<base::NodeId> ids;
  if (!lookup) return ids;
  for (const std::string& name : names) {
    const base::NodeId id = lookup(name);
    if (!id)
      return fail(ErrorCode::kNotFound,
                  "node " + base::printable(name) + " of a job that holds resources is not known");
    ids.insert(id);
  }
  return ids;
}

base::Result<model::Placed> placed_from(const Placed& w, const NodeLookup& lookup) {
  GW_TRY(allocation, shares_of(w, lookup));
  if (lookup)
    for (const model::NodeShare& s : allocation.shares)
      if (!s.node)
        return fail(ErrorCode::kNotFound,
                    "node " + base::printable(s.name) + " of a job that holds resources is not known");
  GW_TRY(waiting_for, ids_of(w.waiting_for(), lookup));
  GW_TRY(unreachable, ids_of(w.unreachable(), lookup));
  model::Placed p;
  p.allocation = std::move(allocation);
  p.partition = w.partition();
  p.placed.us = w.placed_us();
  p.started.us = w.started_us();
  p.waiting_for = std::move(waiting_for);
  p.unreachable = std::move(unreachable);
  if (w.has_outcome()) {
    GW_TRY(outcome, from_wire(w.outcome()));
    p.outcome = std::move(outcome);
  }
  p.kill_sent.us = w.kill_sent_us();
  p.warned = w.warned();
  p.contract = contract_from(w);
  p.gpu_types = w.gpu_types();
  p.uncut_limit.us = w.uncut_limit_us();
  if (w.program() > static_cast<uint32_t>(model::kLastJobProgram))
    return fail(ErrorCode::kInvalid, fmt::format("program {} of a run is not known", w.program()));
  p.program = static_cast<model::JobProgram>(w.program());
  p.saved.us = w.saved_us();
  if (lookup)
    for (const Extension& extension : w.extensions())
      p.extensions[lookup(extension.node())] = {
          base::JobId(extension.id()), {extension.until_us()}, extension.is_ready()};
  if (w.has_moves_to()) {
    GW_TRY(place, nomination_from(w.moves_to(), lookup));
    p.moves_to = std::move(place);
  }
  p.suspension = suspension_from(w);
  p.preemptible = !w.not_preemptible();
  p.suspensions = w.suspensions();
  p.next_step = w.next_step();
  p.stood_still.us = w.stood_still_us();
  return p;
}

base::Result<model::Ended> ended_from(const Ended& w, const NodeLookup& lookup) {
  GW_TRY(outcome, from_wire(w.outcome()));
  GW_TRY(allocation, shares_of(w, lookup));
  GW_TRY(never_made, from_wire(w.never_made()));
  return model::Ended{std::move(outcome), std::move(allocation), w.partition(),
                      {w.started_us()},   {w.ended_us()},        base::Duration{w.stood_still_us()},
                      w.gpu_types(),      std::move(never_made)};
}

base::Result<model::Waiting> waiting_from(const Waiting& w, const NodeLookup& lookup) {
  model::Waiting out;
  // One of a later version keeps nobody from reading the job: why it waits is worked out anew.
  if (w.reason() <= static_cast<uint32_t>(model::kLastWaitReason))
    out.reason = static_cast<model::WaitReason>(w.reason());
  out.not_before.us = w.not_before_us();
  out.estimated_start.us = w.estimated_start_us();
  out.since.us = w.since_us();
  if (w.has_nomination()) {
    GW_TRY(nomination, nomination_from(w.nomination(), lookup));
    out.nomination = std::move(nomination);
  }
  return out;
}

base::Status phase_from(const JobStatus& w, model::Job& job, const NodeLookup& lookup) {
  switch (w.phase_case()) {
    case JobStatus::kWaiting: {
      GW_TRY(waiting, waiting_from(w.waiting(), lookup));
      job.phase = std::move(waiting);
      return {};
    }
    case JobStatus::kPlaced: {
      GW_TRY(placed, placed_from(w.placed(), lookup));
      job.phase = std::move(placed);
      return {};
    }
    case JobStatus::kEnded: {
      GW_TRY(ended, ended_from(w.ended(), lookup));
      job.phase = std::move(ended);
      return {};
    }
    case JobStatus::PHASE_NOT_SET:
      break;
  }
  return fail(ErrorCode::kProtocol, "a job status without a phase");
}

void set_progress(JobStatus& w, const model::Progress& p) {
  if (p == model::Progress{}) return;
  Progress* to = w.mutable_progress();
  to->set_step(p.step);
  to->set_of(p.of);
  to->set_rate_milli(p.rate_milli);
  to->set_told_us(p.told.us);
  to->set_promised_us(p.promised.us);
  to->set_has_overrun(p.has_overrun);
  to->set_tasks(p.tasks);
  to->set_other_tasks(p.other_tasks);
  to->set_other_rate_milli(p.other_rate_milli);
  to->set_is_guess(p.is_guess);
  to->set_scaling(p.scaling);
  to->set_expected_us(p.expected.us);
  to->set_saved_step(p.saved_step);
  to->set_own_rate_milli(p.company.own_rate_milli);
  to->set_alone_since_us(p.company.alone_since.us);
  to->set_alone_step(p.company.alone_step);
  to->set_slow_since_us(p.company.slow_since.us);
  to->set_needs_own_gpu(p.company.needs_own_gpu);
  if (p.allowed != base::kUnlimited) to->set_allowed_us(p.allowed.us);
  if (p.left != base::kUnlimited) to->set_left_us(p.left.us);
}

void set_unmet(JobStatus& w, const model::Dependency& unmet) {
  w.set_unmet_any(unmet.any);
  for (const model::DependencyTerm& term : unmet.terms) {
    DependencyTerm* to = w.add_unmet();
    to->set_kind(static_cast<uint32_t>(term.kind));
    to->set_job(term.job.value);
    to->set_delay_us(term.delay.us);
    to->set_due_us(term.due.us);
    to->set_is_failed(term.is_failed);
    if (term.task) to->set_task(*term.task);
  }
}

}  // namespace

base::Status unmet_from_wire(const JobStatus& w, model::Dependency& unmet) {
  unmet = {w.unmet_any(), {}};
  for (const DependencyTerm& term : w.unmet()) {
    if (term.kind() > static_cast<uint32_t>(model::kLastDependencyKind))
      return fail(ErrorCode::kProtocol, "there is no dependency of kind " + std::to_string(term.kind()));
    unmet.terms.push_back({static_cast<model::DependencyKind>(term.kind()),
                           base::JobId(term.job()),
                           term.has_task() ? std::optional(term.task()) : std::nullopt,
                           {term.delay_us()},
                           {term.due_us()},
                           term.is_failed()});
  }
  return {};
}

StateMark to_wire(const model::StateMark& m) {
  StateMark w;
  w.set_root(m.root);
  w.set_incarnation(m.incarnation);
  w.set_commit(m.commit);
  return w;
}

model::StateMark from_wire(const StateMark& w) { return {w.root(), w.incarnation(), w.commit()}; }

model::Progress from_wire(const Progress& w) {
  const auto bounded = [](uint64_t n) { return std::min(n, model::kMostSteps); };
  model::Progress p;
  p.step = bounded(w.step());
  p.of = bounded(w.of());
  p.rate_milli = bounded(w.rate_milli());
  p.told.us = w.told_us();
  p.promised.us = w.promised_us();
  p.has_overrun = w.has_overrun();
  p.tasks = w.tasks();
  p.other_tasks = w.other_rate_milli() == 0 ? 0 : w.other_tasks();
  p.other_rate_milli = bounded(w.other_rate_milli());
  p.is_guess = w.is_guess();
  if (w.has_scaling()) p.scaling = w.scaling();
  p.expected.us = w.expected_us();
  p.saved_step = bounded(w.saved_step());
  p.company.own_rate_milli = bounded(w.own_rate_milli());
  p.company.alone_since.us = w.alone_since_us();
  p.company.alone_step = bounded(w.alone_step());
  p.company.slow_since.us = w.slow_since_us();
  p.company.needs_own_gpu = w.needs_own_gpu();
  if (w.has_allowed_us()) p.allowed.us = std::max(w.allowed_us(), int64_t{0});
  if (w.has_left_us()) p.left.us = std::max(w.left_us(), int64_t{0});
  return p;
}

NodeShare to_wire(const model::NodeShare& s) {
  NodeShare w;
  w.set_node(s.name);
  w.set_tasks(s.tasks);
  w.set_cpus(s.cpus);
  w.set_cores(s.cores.text());
  w.set_gpus(s.gpus.text());
  w.set_mem_mb(s.mem_mb);
  if (s.gpu_milli != model::kWholeGpu) w.set_gpu_milli(s.gpu_milli);
  set_gres(w.mutable_gres(), s.gres);
  return w;
}

base::Result<model::NodeShare> from_wire(const NodeShare& w, const NodeLookup& lookup) {
  GW_TRY(cores, base::IndexSet::parse(w.cores()));
  GW_TRY(gpus, base::IndexSet::parse(w.gpus()));
  if (w.has_gpu_milli() && (w.gpu_milli() == 0 || w.gpu_milli() > model::kWholeGpu))
    return fail(ErrorCode::kProtocol, "a share of " + std::to_string(w.gpu_milli()) + " thousandths of a GPU");
  model::NodeShare s;
  if (w.has_gpu_milli()) s.gpu_milli = w.gpu_milli();
  if (lookup) s.node = lookup(w.node());
  s.name = w.node();
  s.tasks = w.tasks();
  s.cpus = w.cpus();
  s.cores = std::move(cores);
  s.gpus = std::move(gpus);
  s.mem_mb = w.mem_mb();
  GW_TRY(gres, gres_from(w.gres()));
  s.gres = std::move(gres);
  return s;
}

Outcome to_wire(const model::Outcome& o) {
  Outcome w;
  w.set_end(static_cast<uint32_t>(o.end));
  w.set_requeue(o.requeue);
  w.set_reason(static_cast<uint32_t>(o.reason));
  w.set_detail(o.detail);
  w.set_exit_code(o.exit.code);
  w.set_exit_signo(o.exit.signo);
  w.set_peak_mem_mb(o.peak_mem_mb);
  w.set_cancelled_by(o.cancelled_by);
  w.set_ended_us(o.ended.us);
  if (o.grace) w.set_grace_us(o.grace->us);
  w.set_preempted_for(o.preempted_for);
  w.set_preempt_rule(o.preempt_rule);
  if (!o.use.empty()) *w.mutable_use() = to_wire(o.use);
  return w;
}

base::Result<model::Outcome> from_wire(const Outcome& w) {
  const uint32_t end = w.end() == 0 ? static_cast<uint32_t>(model::JobState::kCompleted) : w.end();
  if (end >= static_cast<uint32_t>(model::kJobStateCount) || !model::is_end(static_cast<model::JobState>(end)))
    return fail(ErrorCode::kProtocol, "job state " + std::to_string(w.end()) + " is not the end of a run");
  model::Outcome o;
  o.end = static_cast<model::JobState>(end);
  o.requeue = w.requeue();
  // One of a later version is not known here; the words that came with it are kept.
  if (w.reason() <= static_cast<uint32_t>(model::kLastEndReason)) o.reason = static_cast<model::EndReason>(w.reason());
  o.detail = w.detail();
  o.exit = {w.exit_code(), w.exit_signo()};
  o.peak_mem_mb = w.peak_mem_mb();
  o.cancelled_by = w.cancelled_by();
  o.ended.us = w.ended_us();
  if (w.has_grace_us()) o.grace = base::Duration{w.grace_us()};
  o.preempted_for = w.preempted_for();
  o.preempt_rule = w.preempt_rule();
  o.use = from_wire(w.use());
  return o;
}

RunNode run_node(const model::Placed& placed, const model::NodeShare& share) {
  RunNode w;
  *w.mutable_share() = to_wire(share);
  w.set_is_waited_for(placed.waiting_for.contains(share.node));
  if (const auto extension = placed.extensions.find(share.node); extension != placed.extensions.end())
    set_extension(w.mutable_extension(), extension->second);
  return w;
}

base::Status add_run_nodes(const std::string& host_list, const RunNodes& nodes, Placed& placed) {
  GW_TRY(names, base::expand_hostlist(host_list));
  for (const std::string& name : names) {
    const auto row = nodes.find(name);
    if (row == nodes.end()) return fail(ErrorCode::kNotFound, "nothing is stored of node " + base::printable(name));
    *placed.add_shares() = row->second.share();
    if (row->second.is_waited_for()) placed.add_waiting_for(name);
    if (!row->second.has_extension()) continue;
    *placed.add_extensions() = row->second.extension();
    placed.mutable_extensions()->rbegin()->set_node(name);
  }
  return {};
}

JobStatus stored_status(const model::Job& job) {
  JobStatus w;
  w.set_state(static_cast<uint32_t>(job.state));
  if (const model::Waiting* waiting = job.waiting()) {
    Waiting* m = w.mutable_waiting();
    m->set_reason(static_cast<uint32_t>(waiting->reason));
    m->set_not_before_us(waiting->not_before.us);
    m->set_estimated_start_us(waiting->estimated_start.us);
    m->set_since_us(waiting->since.us);
    if (waiting->nomination) set_nomination(m->mutable_nomination(), *waiting->nomination);
  } else if (const model::Placed* placed = job.placed()) {
    set_placed(w.mutable_placed(), *placed);
  } else if (const model::Ended* ended = job.ended()) {
    Ended* m = w.mutable_ended();
    *m->mutable_outcome() = to_wire(ended->outcome);
    add_shares(m, ended->allocation);
    m->set_partition(ended->partition);
    m->set_started_us(ended->started.us);
    m->set_ended_us(ended->ended.us);
    m->set_stood_still_us(ended->stood_still.us);
    m->set_gpu_types(ended->gpu_types);
    to_wire(ended->never_made, *m->mutable_never_made());
  }
  w.set_submitted_us(job.submitted.us);
  w.set_eligible_us(job.eligible.us);
  w.set_attempt(job.attempt);
  w.set_restarts(job.restarts);
  w.set_launch_failures(job.launch_failures);
  for (const std::string& node : job.shuns) w.add_shuns(node);
  w.set_shuns_until_us(job.shuns_until.us);
  w.set_preemptions(job.preemptions);
  w.set_lost_gpu_ms(job.lost_gpu_ms);
  w.set_last_failure(job.last_failure);
  set_unmet(w, job.unmet);
  w.set_derived_code(job.derived_exit.code);
  w.set_derived_signo(job.derived_exit.signo);
  set_waits(*w.mutable_waited(), job.waited);
  set_progress(w, job.progress);
  if (job.service == model::Service{}) return w;
  w.mutable_service()->set_done_us(job.service.done.us);
  w.mutable_service()->set_rate(job.service.rate);
  w.mutable_service()->set_since_us(job.service.since.us);
  return w;
}

JobStatus status_to_wire(const model::Job& job, const NodeNamer& namer) {
  JobStatus w = stored_status(job);
  if (const model::Placed* placed = job.placed()) set_nodes(w.mutable_placed(), *placed, namer);
  return w;
}

base::Status status_from_wire(const JobStatus& w, model::Job& job, const NodeLookup& lookup) {
  if (w.state() >= static_cast<uint32_t>(model::kJobStateCount))
    return fail(ErrorCode::kProtocol, "unknown job state " + std::to_string(w.state()));
  model::Job next;
  GW_TRY_STATUS(phase_from(w, next, lookup));
  next.state = static_cast<model::JobState>(w.state());
  if (!next.is_consistent())
    return fail(ErrorCode::kProtocol,
                "a job in state " + std::string(model::long_name(next.state)) + " with the data of another state");
  job.state = next.state;
  job.phase = std::move(next.phase);
  job.submitted.us = w.submitted_us();
  job.eligible.us = w.eligible_us();
  job.attempt = w.attempt();
  job.restarts = w.restarts();
  job.launch_failures = w.launch_failures();
  job.shuns.assign(w.shuns().begin(), w.shuns().end());
  job.shuns_until.us = w.shuns_until_us();
  job.preemptions = w.preemptions();
  job.lost_gpu_ms = w.lost_gpu_ms();
  job.last_failure = w.last_failure();
  job.derived_exit = {w.derived_code(), w.derived_signo()};
  job.waited = waits_from(w.waited());
  job.service = {base::microseconds(w.service().done_us()), w.service().rate(), base::Time{w.service().since_us()}};
  job.progress = from_wire(w.progress());
  return unmet_from_wire(w, job.unmet);
}

Job to_wire(const model::Job& job, const NodeNamer& namer, Extent extent) {
  Job w;
  w.set_id(job.id.value);
  *w.mutable_spec() = to_wire(job.spec, extent);
  *w.mutable_status() = status_to_wire(job, namer);
  return w;
}

base::Result<model::Job> from_wire(const Job& w, const NodeLookup& lookup) {
  GW_TRY(spec, from_wire(w.spec()));
  model::Job job;
  job.id = base::JobId(w.id());
  job.spec = std::move(spec);
  GW_TRY_STATUS(status_from_wire(w.status(), job, lookup));
  return job;
}

}  // namespace gw::wire
