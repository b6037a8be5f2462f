// See corresponding.h.
#include "ctld/core/jobs/corresponding.h"

#include <deque>
#include <optional>
#include <string>
#include <utility>

#include "ctld/core/jobs/arrays.h"
#include "ctld/core/jobs/eligibility.h"

namespace gw::ctld {

using model::Dependency;
using model::DependencyKind;
using model::DependencyTerm;
using model::Job;
using model::TaskSet;

namespace {

bool is_for(const DependencyTerm& term, JobId array) {
  return term.kind == DependencyKind::kAfterCorr && term.job == array && !term.is_failed;
}

bool waits_task_by_task(const Job& part, JobId array) {
  for (const DependencyTerm& term : part.unmet.terms)
    if (is_for(term, array)) return true;
  return false;
}

Dependency failed_for(Dependency unmet, JobId array) {
  for (DependencyTerm& term : unmet.terms) term.is_failed |= is_for(term, array);
  return unmet;
}

/// Another part of its array that waits for the same in vain.
Job* part_that_fails(Core& core, const Job& part, const Dependency& unmet) {
  for (const auto& [id, tasks] : core.jobs.arrays().find(part.spec.array->job)->parts) {
    Job* one = id == part.id ? nullptr : core.jobs.find(id);
    const bool waits = one != nullptr && one->waiting() != nullptr && one->spec.is_array();
    if (waits && one->unmet == unmet && one->spec.qos == part.spec.qos) return one;
  }
  return nullptr;
}

void give_up(Core& core, Job& part, Dependency unmet) {
  part.unmet = std::move(unmet);
  update_eligibility(core, part);
  core.rows.job(part);
  core.post(DependencyFailed{part.id});
}

/// Of these tasks the part's have no hope any more. Where they cannot be told apart from the rest of it, all of it has
/// none: what must not start does not.
void give_up(Core& core, Job& part, JobId other, const TaskSet& failed) {
  const TaskSet& left = *core.jobs.arrays().tasks_of(part);
  const TaskSet some = left.common(failed);
  if (some.empty()) return;
  Dependency unmet = failed_for(part.unmet, other);
  if (some.size() == left.size()) return give_up(core, part, std::move(unmet));
  Job* const known = some.size() == 1 ? part_that_fails(core, part, unmet) : nullptr;
  if (known != nullptr && core.jobs.arrays().move(part, *known, some.front(), kMostRanges)) return;
  const auto cut = cut_off(core, {part.id, some}, CutTo::kNever);
  give_up(core, cut ? **cut : part, std::move(unmet));
}

/// Tasks of an array that ended, and not well, as far as they are in memory.
TaskSet ended_badly(const Core& core, const ArrayTable::Array& array) {
  std::deque<model::TaskRange> ranges;
  for (const auto& [index, id] : array.jobs) {
    const Job& task = core.jobs.at(id);
    if (task.ended() == nullptr || task.state == model::JobState::kCompleted) continue;
    if (!ranges.empty() && ranges.back().last + 1 == index && ranges.back().step == 1)
      ranges.back().last = index;
    else
      ranges.push_back({index, index, 1});
  }
  return TaskSet::of(std::move(ranges)).value_or(TaskSet());
}

}  // namespace

void give_up_corresponding(Core& core, Job& part) {
  const std::vector<DependencyTerm> terms = part.unmet.terms;
  for (const DependencyTerm& term : terms) {
    const ArrayTable::Array* other = core.jobs.arrays().find(term.job);
    if (other == nullptr || !is_for(term, term.job)) continue;
    give_up(core, part, term.job, ended_badly(core, *other));
    const auto parts = other->parts;
    for (const auto& [id, tasks] : parts)
      if (const Job* one = core.jobs.find(id); one != nullptr && one->ended() != nullptr)
        give_up(core, part, term.job, tasks);
  }
}

void give_up_corresponding_to(Core& core, const Job& ended) {
  const model::ArrayPlace& place = *ended.spec.array;
  const std::vector<JobId> others = core.jobs.dependents().of({place.job});
  if (others.empty()) return;
  TaskSet failed;
  if (place.is_task())
    failed.add(place.task);
  else if (const TaskSet* tasks = core.jobs.arrays().tasks_of(ended))
    failed = *tasks;
  for (const JobId id : others) {
    Job* part = core.jobs.find(id);
    if (part != nullptr && part->waiting() != nullptr && part->spec.is_array() && waits_task_by_task(*part, place.job))
      give_up(core, *part, place.job, failed);
  }
}

}  // namespace gw::ctld
