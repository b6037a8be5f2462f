// See preemption.h.
#include "ctld/core/jobs/preemption.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "base/hostlist.h"
#include "base/text.h"
#include "ctld/core/jobs/elastic.h"
#include "ctld/core/jobs/facts.h"
#include "ctld/core/jobs/preemption_counts.h"
#include "ctld/core/jobs/run.h"
#include "ctld/core/jobs/suspend.h"

namespace gw::ctld {

using base::Duration;
using model::Job;
using model::JobState;
using model::Outcome;
using model::WaitReason;

namespace {

constexpr size_t kMostTold = 100;  // sets of moves for one job

/// After a start the nodes come back one by one: who runs on the first is not preempted for what fits on the next.
bool can_take_anybody(const Core& core) {
  const bool are_all_there = std::all_of(core.nodes.all().begin(), core.nodes.all().end(),
                                         [](const auto& node) { return node.second.connected; });
  return are_all_there || core.now >= core.watch.boot + core.settings.node_timeout;
}

void report_move(Core& core, const sched::WouldMove& found) {
  const Job* job = core.jobs.find(found.job);
  if (job == nullptr || job->waiting() == nullptr || job->is_held()) return;
  std::vector<std::string> moves;
  for (const sched::WouldMove::Move& move : found.moves) {
    const Job* mover = core.jobs.find(move.job);
    if (mover == nullptr || mover->placed() == nullptr) return;  // it ended while the plan was made
    moves.push_back(fmt::format("job {} from {} to {}", move.job.value,
                                base::compress_hostlist(mover->placed()->allocation.node_names()),
                                base::compress_hostlist(move.to)));
  }
  const std::string text = fmt::format("would start in {} on {} if moved: {} (consolidate is dry_run)", found.partition,
                                       base::compress_hostlist(found.nodes), base::join(moves, "; "));
  std::set<std::string>& told = core.planning.reported_moves[found.job];
  if (told.size() >= kMostTold || !told.insert(text).second) return;
  core.out.job_event(*job, "would move", text);
  core.out.note(fmt::format("job {} {}", found.job.value, text));
}

std::string named(const std::set<JobId>& jobs) {
  constexpr size_t kMostNamed = 20;
  std::vector<std::string> names;
  for (const JobId job : jobs)
    if (names.size() < kMostNamed) names.push_back(fmt::format("job {}", job.value));
  const size_t more = jobs.size() - names.size();
  return base::join(names, ", ") + (more == 0 ? "" : fmt::format(" and {} more", more));
}

/// In the history of who goes: what that was decided by; empty: by nothing that has figures.
std::string ground_text(const sched::Preempt& victim) {
  const uint32_t whom = victim.beneficiary.value;
  if (victim.is_move) return fmt::format("moved for job {}; it starts again elsewhere at once", whom);
  if (!victim.ground) return {};
  const std::string_view what = victim.ground->is_extension ? "made smaller"
                                : victim.is_suspended       ? "suspended"
                                                            : "preempted";
  return fmt::format("{} for job {}: {}", what, whom, words(*victim.ground, victim.rule));
}

/// What it holds, all components.
uint64_t gpu_milli_of_all(const Core& core, const Job& job) {
  const auto held = [](const Job& one) {
    return one.placed() == nullptr ? 0 : one.placed()->allocation.total_gpu_milli();
  };
  uint64_t sum = held(job);
  for (const base::JobId id : other_components(core, job)) sum += held(core.jobs.at(id));
  return sum;
}

}  // namespace

bool can_make_room(const Core& core, const sched::Group& group) {
  const bool takes = std::any_of(group.decisions.begin(), group.decisions.end(),
                                 [](const auto& d) { return std::holds_alternative<sched::Preempt>(d); });
  if (!takes) return true;
  if (!can_take_anybody(core)) return false;
  return std::all_of(group.decisions.begin(), group.decisions.end(), [&core](const sched::Decision& d) {
    const auto* victim = std::get_if<sched::Preempt>(&d);
    if (victim == nullptr) return true;
    const model::Job* job = core.jobs.find(victim->beneficiary);
    if (!core.stored.fault.empty() || job == nullptr) return false;
    if (is_suspended(*job)) return !job->placed()->suspension->is_held;
    if (job->placed() != nullptr && job->state == JobState::kRunning)
      return job->spec.request.elastic || victim->rule == sched::kCompanyRule;
    return job->waiting() != nullptr && !job->is_held() && job->waiting()->reason == WaitReason::kNone;
  });
}

void report_moves(Core& core) {
  std::erase_if(core.planning.reported_moves, [&core](const auto& told) {
    const model::Job* job = core.jobs.find(told.first);
    return job == nullptr || job->waiting() == nullptr;
  });
  if (core.planning.dry_run_moves.empty() || !can_take_anybody(core) || !core.stored.fault.empty()) return;
  for (const sched::WouldMove& moves : std::exchange(core.planning.dry_run_moves, {})) report_move(core, moves);
}

void nominate(Core& core, const sched::Nomination& nomination) {
  Job* job = core.jobs.find(nomination.job);
  if (job == nullptr) return;
  const model::Nomination kept{nomination.partition, nomination.allocation, nomination.when, nomination.components};
  if (job->placed() != nullptr) {  // it moves: the place is its own once it has left the old one; or it will resume
    if (job->state != JobState::kCompleting && !is_suspended(*job)) return;
    job->placed()->moves_to = kept;
    core.rows.job(*job);
    core.feed.tell(sched::NominationSet{nomination});
    return;
  }
  if (job->waiting() == nullptr) return;
  job->waiting()->nomination = kept;
  core.rows.job(*job);
  core.out.job_event(*job, "nominated",
                     fmt::format("others leave {} for it", base::join(nomination.node_names(), ",")));
  core.feed.tell(sched::NominationSet{nomination});
}

bool preempt(Core& core, const sched::Preempt& victim) {
  Job* job = core.jobs.find(victim.job);
  if (const auto whole = core.placements.job_of(victim.job)) job = core.jobs.find(*whole);
  if (job == nullptr) return false;
  if (victim.job.value >= sched::kFirstHoldingId && !is_suspended(*job)) return shrink(core, victim);
  if (victim.job == job->id && is_suspended(*job)) return false;  // decided before it was suspended
  if (job->state == JobState::kCompleting || job->placed() == nullptr) return false;
  const auto rule = static_cast<uint32_t>(victim.rule);
  model::Suspension why{{}, {}, victim.beneficiary.value, rule};
  why.is_turn = victim.is_suspended && rule == 0 && core.planning.orders.takes_turns(job->placed()->partition);
  if (victim.is_suspended && suspend(core, *job, why, victim.grace)) return true;
  if (why.is_turn) return false;  // it is not so far yet that it could be, and it is not to lose anything
  Outcome outcome = preempted(*job, victim.beneficiary.value, rule, victim.is_move);
  if (victim.is_counted())
    core.feed.tell(sched::JobPreempted{pending_of(core, *job).qos, {core.now, gpu_milli_of_all(core, *job)}});
  if (victim.is_move) core.feed.tell(sched::JobMoved{job->id, core.now});
  const bool had_grace = is_suspended(*job) && job->placed()->suspension->for_job != 0 && job->spec.preempt_signo != 0;
  outcome.grace = had_grace ? Duration{} : victim.grace;
  outcome.ended = core.now;
  stop(core, *job, std::move(outcome));
  return true;
}

void tell_displaced(Core& core, const std::vector<const sched::Preempt*>& leaving) {
  std::map<std::tuple<JobId, bool, int>, std::set<JobId>> by_whom;
  std::map<std::pair<JobId, std::string>, std::set<JobId>> by_ground;
  std::set<std::pair<JobId, std::string>> told;  // of a gang that loses several parts once
  for (const sched::Preempt* victim : leaving) {
    const JobId whole = core.placements.job_of(victim->job).value_or(victim->job);  // of an elastic gang a part leaves
    if (whole.value >= sched::kFirstHoldingId) continue;
    by_whom[{victim->beneficiary, victim->is_move, victim->rule}].insert(whole);
    if (victim->ground) by_ground[{victim->beneficiary, words(*victim->ground, victim->rule)}].insert(whole);
    if (const std::string text = ground_text(*victim); !text.empty() && told.emplace(whole, text).second)
      if (const Job* job = core.jobs.find(whole)) core.out.job_event(*job, std::string(model::kByQuotas), text);
  }
  for (const auto& [why, victims] : by_whom) {
    const auto& [id, is_move, rule] = why;
    const Job* job = core.jobs.find(id);
    if (job == nullptr) continue;
    core.out.job_event(
        *job, is_move ? "moves others" : "preempts",
        fmt::format("{}{}", named(victims), rule == 0 ? "" : fmt::format(" (rule {} of the quotas)", rule)));
  }
  for (const auto& [why, victims] : by_ground)
    if (const Job* job = core.jobs.find(why.first))
      core.out.job_event(*job, std::string(model::kByQuotas),
                         fmt::format("in place of {}: {}", named(victims), why.second));
}

}  // namespace gw::ctld
