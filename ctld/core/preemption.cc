// Jobs that make way for others: who is told to go and what the job is told, what becomes of it, and what of its work
// is lost. Invariants: a preemption is no failure: it changes neither the count of failed launches nor the back-off;
// each run counts as preempted once, when it has left its nodes.
#include <fmt/format.h>

#include <algorithm>

#include "base/hostlist.h"
#include "base/text.h"
#include "ctld/core/controller.h"

namespace gw::ctld {

using base::Duration;
using model::Job;
using model::JobState;
using model::OnPreempt;
using model::Outcome;
using model::WaitReason;

namespace {

constexpr int kMaxSignal = 64;
constexpr std::string_view kMetaPrefix = "preempted:";  // and the QOS: count, milliseconds lost
constexpr size_t kMostTold = 100;                       // sets of moves for one job

/// Milliseconds of whole GPUs that the run has worked since it began or was saved last.
uint64_t unsaved_gpu_ms(const model::Placed& placed, Time ended) {
  const Time since = std::max(placed.running_since(), placed.saved);
  if (placed.suspension && placed.suspension->since) ended = std::min(ended, placed.suspension->since);
  if (!placed.started || ended <= since) return 0;
  uint64_t thousandths = 0;
  for (const model::NodeShare& share : placed.allocation.shares)
    thousandths += uint64_t{share.gpus.size()} * share.gpu_milli;
  return static_cast<uint64_t>((ended - since).us / 1000) * thousandths / model::kWholeGpu;
}

}  // namespace

/// After a start the nodes come back one by one: who runs on the first is not taken off for what fits on the next.
bool Controller::can_take_anybody(Time now) const {
  const bool are_all_there =
      std::all_of(nodes_.all().begin(), nodes_.all().end(), [](const auto& node) { return node.second.connected; });
  return are_all_there || now >= boot_ + settings_.node_timeout;
}

/// Nobody is taken off for a job that no longer waits for room.
bool Controller::can_make_room(Time now, const sched::Group& group) const {
  const bool takes = std::any_of(group.decisions.begin(), group.decisions.end(),
                                 [](const auto& d) { return std::holds_alternative<sched::Preempt>(d); });
  if (!takes) return true;
  if (!can_take_anybody(now)) return false;
  return std::all_of(group.decisions.begin(), group.decisions.end(), [this](const sched::Decision& d) {
    const auto* victim = std::get_if<sched::Preempt>(&d);
    if (victim == nullptr) return true;
    const model::Job* job = jobs_.find(victim->beneficiary);
    if (!store_fault_.empty() || job == nullptr) return false;
    if (stands_still(*job)) return !job->placed()->suspension->is_held;
    return job->waiting() != nullptr && !job->is_held() && job->waiting()->reason == WaitReason::kNone;
  });
}

/// What a dry run of consolidation found, once for each blocked job and set of moves. Like a move it waits until all
/// nodes are back; the scheduler says it once, so it is kept until then.
void Controller::tell_moves(Time now) {
  std::erase_if(told_moves_, [this](const auto& told) {
    const model::Job* job = jobs_.find(told.first);
    return job == nullptr || job->waiting() == nullptr;
  });
  if (found_moves_.empty() || !can_take_anybody(now) || !store_fault_.empty()) return;
  for (const sched::WouldMove& moves : std::exchange(found_moves_, {})) tell_move(now, moves);
}

void Controller::tell_move(Time now, const sched::WouldMove& found) {
  const Job* job = jobs_.find(found.job);
  if (job == nullptr || job->waiting() == nullptr || job->is_held()) return;
  std::vector<std::string> moves;
  for (const sched::WouldMove::Move& move : found.moves) {
    const Job* mover = jobs_.find(move.job);
    if (mover == nullptr || mover->placed() == nullptr) return;  // it ended while the plan was made
    moves.push_back(fmt::format("job {} from {} to {}", move.job.value,
                                base::compress_hostlist(mover->placed()->allocation.node_names()),
                                base::compress_hostlist(move.to)));
  }
  const std::string text = fmt::format("would start in {} on {} if moved: {} (consolidate is dry_run)", found.partition,
                                       base::compress_hostlist(found.nodes), base::join(moves, "; "));
  std::set<std::string>& told = told_moves_[found.job];
  if (told.size() >= kMostTold || !told.insert(text).second) return;
  out_.job_event(now, *job, "would move", text);
  out_.note(fmt::format("job {} {}", found.job.value, text));
}

/// What others leave for a job is its own, also after a restart.
void Controller::keep_for(Time now, const sched::Claim& claim) {
  Job* job = jobs_.find(claim.job);
  if (job == nullptr) return;
  const model::Claim kept{claim.partition, claim.allocation, claim.when};
  if (job->placed() != nullptr) {  // it moves: the place is its own once it has left the old one; or it will go on
    if (job->state != JobState::kCompleting && !stands_still(*job)) return;
    job->placed()->moves_to = kept;
    rows_.job(*job);
    feed_.tell(sched::ClaimSet{claim});
    return;
  }
  if (job->waiting() == nullptr) return;
  job->waiting()->claim = kept;
  rows_.job(*job);
  out_.job_event(now, *job, "claimed",
                 fmt::format("others leave {} for it", base::join(claim.allocation.node_names(), ",")));
  feed_.tell(sched::ClaimSet{claim});
}

/// The job goes back to the queue as soon as it has left its nodes, unless it would rather end, or stand still.
void Controller::preempt(Time now, const sched::Preempt& victim) {
  Job* job = jobs_.find(victim.job);
  if (const auto whole = placements_.job_of(victim.job)) job = jobs_.find(*whole);
  if (job == nullptr) return;
  if (victim.job.value >= sched::kFirstPiece && !stands_still(*job)) return shrink(now, victim);
  if (victim.job == job->id && stands_still(*job)) return;  // decided before it stood still
  if (job->state == JobState::kCompleting || job->placed() == nullptr) return;
  const auto rule = static_cast<uint32_t>(victim.rule);
  const model::Suspension why{{}, {}, victim.beneficiary.value, rule};
  if (victim.is_suspended && suspend(now, *job, why, victim.grace)) return;
  Outcome outcome = preempted(*job, victim.beneficiary.value, rule, victim.is_move);
  if (victim.is_move) feed_.tell(sched::JobMoved{job->id, now});
  const bool had_grace = stands_still(*job) && job->placed()->suspension->for_job != 0 && job->spec.preempt_signo != 0;
  outcome.grace = had_grace ? Duration{} : victim.grace;
  outcome.ended = now;
  stop(now, *job, std::move(outcome));
}

/// How a job ends that makes way.
Outcome Controller::preempted(const Job& job, uint32_t beneficiary, uint32_t rule, bool is_move) {
  Outcome outcome;
  outcome.end = JobState::kPreempted;
  outcome.detail = fmt::format("{} job {}{}", is_move ? "moved to make room for" : "taken off for", beneficiary,
                               rule == 0 ? "" : fmt::format(" (rule {} of the quotas)", rule));
  // spec.requeue may have changed since it started: then it goes for good, too.
  outcome.requeue = job.spec.requeue && job.spec.on_preempt != OnPreempt::kCancel;
  outcome.preempted_for = beneficiary;
  outcome.preempt_rule = rule;
  return outcome;
}

base::Status Controller::check_preemption(const model::JobSpec& spec, std::vector<std::string>& warnings) const {
  if (spec.preempt_signo < 0 || spec.preempt_signo > kMaxSignal)
    return base::invalid(fmt::format("--preempt-signal: signal {} does not exist", spec.preempt_signo));
  if (spec.resize_signo < 0 || spec.resize_signo > kMaxSignal)
    return base::invalid(fmt::format("--resize-signal: signal {} does not exist", spec.resize_signo));
  const bool says_nothing = spec.on_preempt == OnPreempt::kCheckpoint || spec.on_preempt == OnPreempt::kSuspend;
  if (!spec.requeue && says_nothing)
    warnings.push_back(fmt::format("--on-preempt={} says nothing beside --no-requeue: the job is never taken off",
                                   model::name(spec.on_preempt)));
  if (spec.on_preempt == OnPreempt::kSuspend && !can_stand_still(spec))
    warnings.push_back("--on-preempt=suspend: a job that is elastic, or in a reservation, is requeued instead");
  return {};
}

/// What a Stop says of why and until when, where the job makes way for another.
void Controller::tell_preemption(const Job& job, wire::Stop& out) const {
  const Outcome& outcome = *job.placed()->outcome;
  if (!was_preempted(outcome)) return;
  out.set_signo(job.spec.preempt_signo);
  out.set_preempted_for(outcome.preempted_for);
  out.set_preempt_rule(outcome.preempt_rule);
  out.set_until_us((job.placed()->kill_sent + outcome.grace.value_or(job.placed()->contract.kill_wait)).us);
}

/// A job that was asked to save its work ended by itself with exit code 0: it has.
void Controller::take_exit_as_saved(Job& job, const Outcome& reported) {
  const bool is_clean = reported.end == JobState::kCompleted && reported.exit == model::ExitStatus{};
  if (!is_clean || job.spec.on_preempt != OnPreempt::kCheckpoint || !was_preempted(*job.placed()->outcome)) return;
  job.placed()->saved = std::max(job.placed()->saved, reported.ended);
  for (Job* other : siblings(job)) {  // the script is that of all components
    if (other->placed() == nullptr) continue;
    other->placed()->saved = std::max(other->placed()->saved, reported.ended);
    rows_.job(*other);
  }
}

bool Controller::was_preempted(const Outcome& outcome) {
  return outcome.preempted_for != 0 || outcome.end == JobState::kPreempted;
}

/// Once for each run, when it has left its nodes; the caller saves the job.
void Controller::count_preemption(Time now, Job& job, const Outcome& outcome) {
  if (!was_preempted(outcome)) return;
  const model::Placed& placed = *job.placed();
  const uint64_t lost = unsaved_gpu_ms(placed, outcome.ended);
  count_preempted_run(job, lost);
  if (placed.allocation.total_gpus() > 0 && placed.started)
    out_.job_event(now, job, "preempted", fmt::format("{:.1f} GPU-seconds of its work are lost", double(lost) / 1e3));
}

/// A run that was suspended, and ends after all, counts once.
void Controller::count_preempted_run(Job& job, uint64_t lost) {
  const auto& s = job.placed()->suspension;
  const bool is_counted = job.state == JobState::kCompleting && s && s->holder && s->for_job != 0;
  if (!is_counted) ++job.preemptions;
  job.lost_gpu_ms += lost;
  PreemptionFigures& figures = preemptions_[job.spec.qos];
  figures.count += is_counted ? 0 : 1;
  figures.lost_gpu_ms += lost;
  out_.write(store::PutMeta{std::string(kMetaPrefix) + job.spec.qos,
                            fmt::format("{} {}", figures.count, figures.lost_gpu_ms)});
}

void Controller::restore_preemptions(const store::Snapshot& snapshot, Time now) {
  for (const store::NamedBytes& row : snapshot.meta) {
    if (!row.name.starts_with(kMetaPrefix)) continue;
    const size_t blank = std::min(row.bytes.find(' '), row.bytes.size());
    const auto count = base::parse_int(row.bytes.substr(0, blank), 0, INT64_MAX, row.name);
    const auto lost = base::parse_int(row.bytes.substr(std::min(blank + 1, row.bytes.size())), 0, INT64_MAX, row.name);
    if (count && lost)
      preemptions_[row.name.substr(kMetaPrefix.size())] = {static_cast<uint64_t>(*count), static_cast<uint64_t>(*lost)};
    else
      hold_named(now, store::RowKind::kSetting, row.name, "it is no count of runs that made way");
  }
}

}  // namespace gw::ctld
