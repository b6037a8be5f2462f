// See dependencies.h.
#include "ctld/core/jobs/dependencies.h"

#include <algorithm>
#include <string>
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
  if (term.kind == DependencyKind::kAfterCorr) return TermState::kOpen;
  if (term.kind != DependencyKind::kSingleton) return look_at(term, other_job(core, term), core.now);
  return core.jobs.first_named(job.spec.uid, job.spec.name) == job.id ? TermState::kMet : TermState::kOpen;
}

bool is_task_by_task(const Core& core, const Job& job, JobId other) {
  return job.spec.is_array() && core.jobs.arrays().find(other) != nullptr;
}

}  // namespace

void begin_to_depend(const Core& core, Job& job) {
  job.unmet = {};
  if (job.spec.dependency.empty() || job.spec.het_offset > 0) return;
  auto asked = model::parse_dependency(job.spec.dependency);
  if (!asked) return;
  // Where there are no tasks of the same index it is the whole that counts.
  for (DependencyTerm& term : asked->terms)
    if (term.kind == DependencyKind::kAfterCorr && !is_task_by_task(core, job, term.job))
      term.kind = DependencyKind::kAfterOk;
  job.unmet = std::move(*asked);
}

void wait_for_corresponding(const Core& core, Job& task, const model::Dependency& of_part) {
  const uint32_t index = task.spec.array->task;
  task.unmet = {};
  task.spec.dependency.clear();  // the array has waited for the rest
  for (const DependencyTerm& term : of_part.terms) {
    if (term.kind != DependencyKind::kAfterCorr) continue;
    // One that nobody has has ended well, or never was.
    if (!core.jobs.arrays().job_of(term.job, index)) continue;
    task.unmet.terms.push_back({.kind = DependencyKind::kAfterOk, .job = term.job, .task = index});
    task.spec.dependency +=
        (task.spec.dependency.empty() ? "afterok:" : ",afterok:") + term.job.text() + "_" + std::to_string(index);
  }
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
  std::vector<Awaited> others;
  for (const DependencyTerm& term : terms)
    if (term.job && !term.is_failed) others.push_back({term.job, term.task.value_or(model::kNoArrayTask)});
  core.jobs.dependents().set(job.id, std::move(others));
}

Time next_dependency(const Job& job) {
  Time next = Time::never();
  for (const DependencyTerm& term : job.unmet.terms)
    if (term.due && !term.is_failed) next = std::min(next, term.due);
  return next;
}

}  // namespace gw::ctld
