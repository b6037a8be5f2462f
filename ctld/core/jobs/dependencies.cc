// See dependencies.h.
#include "ctld/core/jobs/dependencies.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace gw::ctld {

using model::DependencyKind;
using model::DependencyTerm;
using model::Job;
using model::TermState;

namespace {

/// An array has started when its last task has, and ended well when all have.
model::OtherJob of_array(const Core& core, const ArrayTable::Array& array) {
  model::OtherJob other;
  other.has_started = array.waiting_parts == 0 && array.waiting + array.starting == 0;
  if (other.has_started) other.started = core.now;
  if (array.is_over()) other.ended_well = array.failed == 0;
  return other;
}

model::OtherJob of_job(const Job& job) {
  model::OtherJob other;
  if (const model::Placed* placed = job.placed(); placed != nullptr && placed->started)
    other = {true, placed->started, {}};
  if (const model::Ended* ended = job.ended(); ended != nullptr) {
    if (ended->started) other = {true, ended->started, {}};
    other.ended_well = job.state == model::JobState::kCompleted;
  }
  return other;
}

/// nullopt: nobody knows it any more.
std::optional<model::OtherJob> other_job(const Core& core, const DependencyTerm& term) {
  const ArrayTable::Array* array = core.jobs.arrays().find(term.job);
  if (array != nullptr && !term.task) return of_array(core, *array);
  const std::optional<JobId> id = term.task ? core.jobs.arrays().job_of(term.job, *term.task) : term.job;
  const Job* job = id ? core.jobs.find(*id) : nullptr;
  return job == nullptr ? std::nullopt : std::optional(of_job(*job));
}

TermState state_of(const Core& core, const Job& job, DependencyTerm& term) {
  if (term.kind != DependencyKind::kSingleton) return look_at(term, other_job(core, term), core.now);
  return core.jobs.first_named(job.spec.uid, job.spec.name) == job.id ? TermState::kMet : TermState::kOpen;
}

}  // namespace

void begin_to_depend(Job& job) {
  job.unmet = {};
  if (job.spec.dependency.empty() || job.spec.het_offset > 0) return;
  if (auto asked = model::parse_dependency(job.spec.dependency)) job.unmet = std::move(*asked);
}

void look_at_dependencies(Core& core, Job& job) {
  std::vector<DependencyTerm>& terms = job.unmet.terms;
  bool is_one_met = false;
  const bool was_hopeless = job.unmet.is_hopeless();
  std::erase_if(terms, [&](DependencyTerm& term) {
    if (term.is_failed) return false;
    const TermState state = state_of(core, job, term);
    term.is_failed = state == TermState::kFailed;
    is_one_met |= state == TermState::kMet;
    return state == TermState::kMet;
  });
  if (job.unmet.any && is_one_met) terms.clear();
  if (job.unmet.is_hopeless() && !was_hopeless) core.post(DependencyFailed{job.id});
  std::vector<JobId> others;
  for (const DependencyTerm& term : terms)
    if (term.job && !term.is_failed) others.push_back(term.job);
  core.jobs.dependents().set(job.id, std::move(others));
}

Time next_dependency(const Job& job) {
  Time next = Time::never();
  for (const DependencyTerm& term : job.unmet.terms)
    if (term.due && !term.is_failed) next = std::min(next, term.due);
  return next;
}

}  // namespace gw::ctld
