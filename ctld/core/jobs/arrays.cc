// See arrays.h.
#include "ctld/core/jobs/arrays.h"

#include <fmt/format.h>

#include "ctld/core/jobs/eligibility.h"

namespace gw::ctld {

using model::Blocker;
using model::BlockerKind;
using model::Job;

namespace {

/// So many tasks are made in one transaction.
constexpr size_t kMostMade = 64;

Blocker of_array(BlockerKind kind, const Job& array, uint64_t bound, uint64_t held) {
  return {.kind = kind, .scope = model::BlockerScope::kJob, .where = array.id.text(), .bound = bound, .held = held};
}

void make_task(Core& core, Job& array) {
  Job& task = core.jobs.make_next_task(array);
  if (&task != &array) {
    core.clients.charges.add_like(task.id, array.id);
    core.out.job_event(task, "submitted",
                       fmt::format("task {} of array {} of {}", task.spec.array->task, array.id.value, task.spec.user),
                       task.spec.uid);
  }
  update_eligibility(core, task);
  core.rows.job_and_spec(task);
}

/// Says how many it made.
size_t make_tasks(Core& core, JobId id, size_t most) {
  size_t made = 0;
  while (made < most) {
    Job* array = core.jobs.find(id);
    if (array == nullptr || !array->spec.is_array() || array->waiting() == nullptr) break;
    if (array->waiting()->reason != model::WaitReason::kNone) break;
    if (const auto why = why_no_task(core, *array)) {
      if (why->kind == BlockerKind::kUsersOtherTasks) core.jobs.arrays().wait_for_room(array->spec.uid, id);
      break;
    }
    make_task(core, *array);
    ++made;
  }
  return made;
}

}  // namespace

std::optional<Blocker> why_no_task(const Core& core, const Job& array) {
  const ArrayTable::Array& all = *core.jobs.arrays().find(array.id);
  if (all.tasks.throttle > 0 && all.live >= all.tasks.throttle)
    return of_array(BlockerKind::kArrayTaskLimit, array, all.tasks.throttle, all.live);
  if (all.waiting >= kMostWaitingTasks)
    return of_array(BlockerKind::kTasksBefore, array, kMostWaitingTasks, all.waiting);
  const size_t mine = core.clients.charges.of(array.spec.uid).jobs;
  const size_t most = core.settings.per_user.max_jobs;
  // The last one is no further job. One of each array may always be: else arrays alone could use the budget up.
  if (all.tasks.left.size() > 1 && all.live > 0 && mine >= most)
    return of_array(BlockerKind::kUsersOtherTasks, array, most, mine);
  return std::nullopt;
}

void make_due_tasks(Core& core) {
  ArrayTable& arrays = core.jobs.arrays();
  if (!arrays.has_due()) return;
  if (core.jobs.live() >= core.settings.max_jobs || !core.jobs.has_numbers_for(kMostMade))
    return core.timers.set({core.now + base::seconds(1), TimerKind::kArrays, 0, 0});
  size_t made = 0;
  while (made < kMostMade) {
    const auto id = arrays.take_due();
    if (!id) return;
    made += make_tasks(core, *id, kMostMade - made);
    if (made == kMostMade) arrays.look_again(*id);
  }
  if (arrays.has_due()) core.timers.set({core.now + base::milliseconds(1), TimerKind::kArrays, 0, 0});
}

std::vector<Job*> tasks_of(Core& core, JobId id) {
  std::vector<Job*> out;
  const ArrayTable::Array* array = core.jobs.arrays().find(id);
  if (array == nullptr) return out;
  for (const auto& [index, task] : array->jobs) out.push_back(&core.jobs.at(task));
  return out;
}

}  // namespace gw::ctld
