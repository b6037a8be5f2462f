// See ties.h.
#include "sim/engine/ties.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "sim/engine/admission.h"
#include "sim/engine/runs.h"

namespace gw::sim {
namespace {

model::OtherJob state_of(const World& world, base::JobId id) {
  const Record& record = world.records[id.value - 1];
  model::OtherJob other;
  other.has_started = static_cast<bool>(record.started) || record.phase == Phase::kRunning;
  other.started = record.started;
  if (record.phase == Phase::kEnded) other.ended_well = record.why.empty();
  if (record.is_refused) other.ended_well = false;
  return other;
}

bool is_met(const World& world, uint32_t job) {
  const Conditions& c = world.ties.conditions[job];
  return world.jobs[job].after.any ? c.met > 0 || c.settled.empty() : c.met == c.settled.size();
}

bool is_hopeless(const World& world, uint32_t job) {
  const Conditions& c = world.ties.conditions[job];
  return world.jobs[job].after.any ? c.failed > 0 && c.failed == c.settled.size() : c.failed > 0;
}

void look_at(World& world, const Ties::Follower& follower) {
  Conditions& c = world.ties.conditions[follower.job];
  if (c.settled[follower.term]) return;
  model::DependencyTerm& term = world.jobs[follower.job].after.terms[follower.term];
  const bool had_delay = static_cast<bool>(term.due);
  const model::TermState state = model::look_at(term, state_of(world, term.job), world.now);
  if (state == model::TermState::kOpen) {
    if (term.due && !had_delay) world.ties.delays.push({term.due, follower});
    return;
  }
  c.settled[follower.term] = true;
  term.is_failed = state == model::TermState::kFailed;
  ++(term.is_failed ? c.failed : c.met);
}

/// It is held for its conditions, and not for its turn.
bool waits_for_others(const World& world, uint32_t job) {
  return world.ties.is_held[job] && !world.ties.is_in_line[job];
}

void look_again(World& world, const Ties::Follower& follower) {
  look_at(world, follower);
  if (waits_for_others(world, follower.job) && is_met(world, follower.job) && may_enter(world, follower.job))
    let_in(world, follower.job);
}

/// Whoever has waited for its turn too long is not let in: the scheduler would only give it up.
bool is_too_late(const World& world, uint32_t job) {
  const sched::PendingJob& pending = world.jobs[job].job;
  if (!pending.deadline) return false;
  const Duration least = pending.time_min.us > 0 ? pending.time_min : pending.time_limit;
  return least == base::kUnlimited ? world.now >= pending.deadline : world.now > pending.deadline - least;
}

}  // namespace

void tie_jobs(World& world) {
  Ties& ties = world.ties;
  const size_t count = world.jobs.size();
  ties.followers.resize(count);
  ties.conditions.resize(count);
  ties.is_held.resize(count);
  ties.is_in_line.resize(count);
  ties.is_inside.resize(count);
  for (uint32_t i = 0; i < count; ++i) {
    const std::vector<model::DependencyTerm>& terms = world.jobs[i].after.terms;
    ties.conditions[i].settled.resize(terms.size());
    for (uint32_t k = 0; k < terms.size(); ++k) ties.followers[terms[k].job.value - 1].push_back({i, k});
  }
}

bool may_enter(World& world, uint32_t job) {
  Ties& ties = world.ties;
  ties.is_held[job] = true;
  ties.is_in_line[job] = false;
  if (!is_met(world, job)) return false;
  const SimJob& spec = world.jobs[job];
  if (spec.throttle > 0) {
    Line& line = ties.lines[spec.line];
    if (line.inside >= spec.throttle) {
      line.waiting.push_back(job);
      ties.is_in_line[job] = true;
      return false;
    }
    ++line.inside;
    ties.is_inside[job] = true;
  }
  ties.is_held[job] = false;
  return true;
}

std::string why_held(const World& world, uint32_t job) {
  if (world.ties.is_in_line[job]) return fmt::format("{} of its line may run at once", world.jobs[job].throttle);
  constexpr size_t kShown = 5;
  const Conditions& c = world.ties.conditions[job];
  const std::vector<model::DependencyTerm>& terms = world.jobs[job].after.terms;
  std::vector<std::string> names;
  size_t left = 0;
  for (size_t k = 0; k < terms.size(); ++k) {
    if (c.settled[k] && !terms[k].is_failed) continue;
    if (++left > kShown) continue;
    names.push_back(fmt::format("{}:{}{}", model::name(terms[k].kind), world.jobs[terms[k].job.value - 1].name,
                                terms[k].is_failed ? " (failed)" : ""));
  }
  return (is_hopeless(world, job) ? "can never start: " : "waits for ") + base::join(names, ", ") +
         (left > kShown ? fmt::format(" and {} more", left - kShown) : "");
}

void job_has_started(World& world, uint32_t job) {
  for (const Ties::Follower& follower : world.ties.followers[job])
    if (world.jobs[follower.job].after.terms[follower.term].kind == model::DependencyKind::kAfter)
      look_again(world, follower);
}

void job_has_left(World& world, uint32_t job) {
  for (const Ties::Follower& follower : world.ties.followers[job]) look_again(world, follower);
  if (!world.ties.is_inside[job]) return;
  world.ties.is_inside[job] = false;
  Line& line = world.ties.lines[world.jobs[job].line];
  --line.inside;
  while (!line.waiting.empty() && line.inside < world.jobs[job].throttle) {
    const uint32_t next = line.waiting.front();
    line.waiting.pop_front();
    if (is_too_late(world, next)) {
      world.ties.is_held[next] = world.ties.is_in_line[next] = false;
      leave_unheard(world, next, "it can no longer end by its deadline: its turn came too late");
    } else if (may_enter(world, next)) {
      let_in(world, next);
    }
  }
}

Time next_delay(const World& world) {
  return world.ties.delays.empty() ? Time::never() : world.ties.delays.top().first;
}

void let_in_what_is_due(World& world) {
  auto& delays = world.ties.delays;
  while (!delays.empty() && delays.top().first <= world.now) {
    const Ties::Follower follower = delays.top().second;
    delays.pop();
    look_again(world, follower);
  }
}

}  // namespace gw::sim
