// See ties.h.
#include "sim/engine/ties.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "sim/engine/admission.h"

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

/// What is left of a dependency: terms that are met go.
void look_at_terms(World& world, uint32_t job, model::Dependency& after) {
  bool is_one_met = false;
  std::erase_if(after.terms, [&](model::DependencyTerm& term) {
    const model::TermState state = model::look_at(term, state_of(world, term.job), world.now);
    if (state == model::TermState::kOpen && term.due > world.now) world.ties.delays.push({term.due, job});
    if (state == model::TermState::kFailed) term.is_failed = true;
    is_one_met |= state == model::TermState::kMet;
    return state == model::TermState::kMet;
  });
  if (after.any && is_one_met) after.terms.clear();
}

std::string what_is_left(const World& world, const model::Dependency& after) {
  constexpr size_t kShown = 5;
  std::vector<std::string> names;
  for (const model::DependencyTerm& term : after.terms)
    names.push_back(fmt::format("{}:{}{}", model::name(term.kind), world.jobs[term.job.value - 1].name,
                                term.is_failed ? " (failed)" : ""));
  const size_t more = names.size() - std::min(names.size(), kShown);
  names.resize(names.size() - more);
  return base::join(names, ", ") + (more > 0 ? fmt::format(" and {} more", more) : "");
}

bool hold(World& world, uint32_t job, std::string why) {
  world.ties.is_held[job] = true;
  world.records[job].why = std::move(why);
  return false;
}

/// Those that name it look again.
void tell_followers(World& world, uint32_t job) {
  for (const uint32_t follower : world.ties.followers[job])
    if (world.ties.is_held[follower] && !world.jobs[follower].after.terms.empty() && may_enter(world, follower))
      let_in(world, follower);
}

}  // namespace

void tie_jobs(World& world) {
  Ties& ties = world.ties;
  ties.followers.resize(world.jobs.size());
  ties.is_held.resize(world.jobs.size());
  ties.is_inside.resize(world.jobs.size());
  for (uint32_t i = 0; i < world.jobs.size(); ++i)
    for (const model::DependencyTerm& term : world.jobs[i].after.terms) ties.followers[term.job.value - 1].push_back(i);
}

bool may_enter(World& world, uint32_t job) {
  SimJob& spec = world.jobs[job];
  look_at_terms(world, job, spec.after);
  if (spec.after.is_hopeless()) return hold(world, job, "can never start: " + what_is_left(world, spec.after));
  if (!spec.after.terms.empty()) return hold(world, job, "waits for " + what_is_left(world, spec.after));
  if (spec.throttle > 0) {
    Line& line = world.ties.lines[spec.line];
    if (line.inside >= spec.throttle) {
      line.waiting.push_back(job);
      return hold(world, job, fmt::format("{} of its line may run at once", spec.throttle));
    }
    ++line.inside;
    world.ties.is_inside[job] = true;
  }
  world.ties.is_held[job] = false;
  return true;
}

void job_has_started(World& world, uint32_t job) { tell_followers(world, job); }

void job_has_left(World& world, uint32_t job) {
  tell_followers(world, job);
  if (!world.ties.is_inside[job]) return;
  world.ties.is_inside[job] = false;
  Line& line = world.ties.lines[world.jobs[job].line];
  --line.inside;
  if (line.waiting.empty()) return;
  const uint32_t next = line.waiting.front();
  line.waiting.pop_front();
  if (may_enter(world, next)) let_in(world, next);
}

Time next_delay(const World& world) {
  return world.ties.delays.empty() ? Time::never() : world.ties.delays.top().first;
}

void let_in_what_is_due(World& world) {
  auto& delays = world.ties.delays;
  while (!delays.empty() && delays.top().first <= world.now) {
    const uint32_t job = delays.top().second;
    delays.pop();
    if (world.ties.is_held[job] && !world.jobs[job].after.terms.empty() && may_enter(world, job)) let_in(world, job);
  }
}

}  // namespace gw::sim
