// See arrays.h.
#include "ctld/core/jobs/arrays.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "ctld/core/jobs/dependencies.h"
#include "ctld/core/jobs/eligibility.h"
#include "ctld/core/jobs/wait_clock.h"
#include "wire/convert.h"

namespace gw::ctld {

using model::Blocker;
using model::BlockerKind;
using model::Job;
using model::TaskSet;

namespace {

/// So many tasks are made in one transaction.
constexpr size_t kMostMade = 64;

Blocker of_array(BlockerKind kind, const Job& job, uint64_t bound, uint64_t held) {
  return {.kind = kind,
          .scope = model::BlockerScope::kJob,
          .where = job.spec.array->job.text(),
          .bound = bound,
          .held = held};
}

void make_task(Core& core, Job& part) {
  const model::Dependency of_part = part.unmet;
  Job& task = core.jobs.make_next_task(part);
  wait_for_corresponding(core, task, of_part);
  if (&task != &part) {
    share_wait(core, part, task);
    core.clients.charges.add_like(task.id, part.id);
    core.clients.charges.resize(task.id, wire::to_wire(task.spec).ByteSizeLong());  // without the ranges of the array
    core.out.job_event(
        task, "submitted",
        fmt::format("task {} of array {} of {}", task.spec.array->task, task.spec.array->job.value, task.spec.user),
        task.spec.uid);
  }
  update_eligibility(core, task);
  core.rows.job_and_spec(task);
}

size_t room_of_user(const Core& core, uint32_t uid) {
  const size_t mine = core.clients.charges.of(uid).jobs, most = core.settings.per_user.max_jobs;
  return mine < most ? most - mine : 0;
}

/// Tasks that wait for the throttle alone go first. Says how many it looked at.
size_t release_tasks(Core& core, const ArrayTable::Array& array, size_t most) {
  size_t released = 0;
  for (; released < most && !array.above.empty() && array.has_room(); ++released) {
    Job& task = core.jobs.at(array.jobs.at(*array.above.begin()));
    update_eligibility(core, task);
    core.rows.job(task);
  }
  return released;
}

/// No further task of it is made for now.
void wait_with_tasks(Core& core, const ArrayTable::Array& array, BlockerKind why) {
  for (const JobId id : array.ready) {
    const Job& part = core.jobs.at(id);
    if (why == BlockerKind::kTasksBefore)
      set_wait_clock(core, part);
    else
      wait_for(core, part,
               why == BlockerKind::kArrayTaskLimit ? model::WaitCause::kArrayLimit : model::WaitCause::kQuota);
  }
}

/// Says how many it made.
size_t make_tasks(Core& core, JobId id, size_t most) {
  const ArrayTable::Array* array = core.jobs.arrays().find(id);
  if (array == nullptr) return 0;
  size_t made = release_tasks(core, *array, most);
  while (made < most && !array->ready.empty()) {
    Job& part = core.jobs.at(*array->ready.begin());
    if (const auto why = why_no_task(core, part)) {
      if (why->kind == BlockerKind::kUsersOtherTasks) core.jobs.arrays().wait_for_room(part.spec.uid, id);
      wait_with_tasks(core, *array, why->kind);
      break;
    }
    make_task(core, part);
    ++made;
  }
  return made;
}

base::Error cannot_cut(const Job& part, std::string why) {
  return {base::ErrorCode::kConflict, fmt::format("array {}: {}", part.spec.array->job.value, why),
          "name all that is left of it, or fewer ranges at once"};
}

/// One more that has ended, and stays in memory for a while.
base::Status admit_ended_part(const Core& core, const Job& part) {
  constexpr size_t kMostInMemory = 10 * kMostParts;
  const size_t parts = core.jobs.arrays().find(part.spec.array->job)->parts.size();
  if (parts < kMostInMemory) return {};
  return base::fail(base::ErrorCode::kUnavailable,
                    fmt::format("tasks of array {} were cancelled {} times within the last minutes",
                                part.spec.array->job.value, parts),
                    "name all of them at once: 5_[1-100,300]");
}

/// One more part of an array that waits.
base::Status admit_part(const Core& core, const Job& part) {
  const uint32_t parts = core.jobs.arrays().find(part.spec.array->job)->waiting_parts;
  if (parts >= kMostParts)
    return tl::unexpected(cannot_cut(part, fmt::format("it is cut into {} parts already", parts)));
  if (room_of_user(core, part.spec.uid) > 0) return {};
  return base::fail(base::ErrorCode::kUnavailable,
                    fmt::format("its user has {} jobs that wait or run (users.max_jobs), and some tasks of an array "
                                "alone are one more",
                                core.settings.per_user.max_jobs));
}

}  // namespace

Blocker throttle_of(const Core& core, const Job& task) {
  const ArrayTable::Array* all = core.jobs.arrays().find(task.spec.array->job);
  return of_array(BlockerKind::kArrayTaskLimit, task, all == nullptr ? 0 : all->throttle,
                  all == nullptr ? 0 : all->going());
}

std::optional<Blocker> why_no_task(const Core& core, const Job& part) {
  const ArrayTable::Array& all = *core.jobs.arrays().find(part.spec.array->job);
  if (!all.has_room()) return throttle_of(core, part);
  const size_t before = all.waiting - all.held;
  if (before >= kMostWaitingTasks) return of_array(BlockerKind::kTasksBefore, part, kMostWaitingTasks, before);
  // The last one is no further job. One of each array may always be: else arrays alone could use the budget up.
  if (core.jobs.arrays().tasks_of(part)->size() > 1 && all.live > 0 && room_of_user(core, part.spec.uid) == 0)
    return of_array(BlockerKind::kUsersOtherTasks, part, core.settings.per_user.max_jobs,
                    core.clients.charges.of(part.spec.uid).jobs);
  return std::nullopt;
}

void make_due_tasks(Core& core) {
  ArrayTable& arrays = core.jobs.arrays();
  if (!arrays.has_due()) return;
  if (core.jobs.live() >= core.settings.max_jobs || !core.jobs.has_numbers_for(kMostMade))
    return core.timers.set({core.now + base::seconds(1), TimerKind::kArrays, 0, 0});
  size_t made = 0;
  while (made < kMostMade) {
    const auto due = arrays.take_due();
    if (!due) return;
    made += make_tasks(core, due->array, kMostMade - made);
    if (made == kMostMade) arrays.look_again(due->array);
    // Room that this one did not need goes to the user's next one.
    if (due->room_of && room_of_user(core, *due->room_of) > 0) arrays.room_for(*due->room_of);
  }
  if (arrays.has_due()) core.timers.set({core.now + base::milliseconds(1), TimerKind::kArrays, 0, 0});
}

std::vector<JobId> jobs_of_array(const Core& core, JobId id) {
  std::vector<JobId> out;
  const ArrayTable::Array* array = core.jobs.arrays().find(id);
  if (array == nullptr) return out;
  for (const auto& [index, task] : array->jobs) out.push_back(task);
  for (const auto& [part, tasks] : array->parts) out.push_back(part);
  return out;
}

const Job& worst_task(const Core& core, const Job& job) {
  const auto badness = [](const Job& one) {
    if (one.ended() == nullptr || one.state == model::JobState::kCompleted) return 0;
    const model::ExitStatus& exit = one.ended()->outcome.exit;
    return exit.signo > 0 ? 128 + exit.signo : std::max(exit.code, 1);
  };
  const Job* worst = &job;
  for (const JobId one : jobs_of_array(core, job.spec.array->job))
    if (badness(core.jobs.at(one)) > badness(*worst)) worst = &core.jobs.at(one);
  return *worst;
}

std::vector<NamedTasks> find_tasks(const Core& core, JobId id, const TaskSet& asked) {
  std::vector<NamedTasks> out;
  const ArrayTable::Array* array = core.jobs.arrays().find(id);
  if (array == nullptr) return out;
  for (auto it = array->jobs.begin(); it != array->jobs.end();) {
    const auto next = asked.next(it->first);
    if (!next) break;
    if (*next == it->first)
      out.push_back({(it++)->second, {}});
    else
      it = array->jobs.lower_bound(*next);
  }
  for (const auto& [part, tasks] : array->parts) {
    TaskSet some = tasks.common(asked);
    if (some.empty()) continue;
    const bool is_all = some.size() == tasks.size();
    out.push_back({part, is_all ? TaskSet() : std::move(some)});
  }
  return out;
}

namespace {

/// Of one with very many tasks in memory these are not looked at.
const ArrayTable::Array* whole_array(const Core& core, const Job& job) {
  constexpr size_t kMostLookedAt = 10'000;
  if (!job.spec.array || job.spec.array->job != job.id) return nullptr;
  const ArrayTable::Array* array = core.jobs.arrays().find(job.id);
  return array == nullptr || array->jobs.size() > kMostLookedAt ? nullptr : array;
}

bool asks_for_the_same(const model::JobSpec& a, const model::JobSpec& b) {
  return a.request == b.request && a.time_limit == b.time_limit && a.qos == b.qos && a.partitions == b.partitions &&
         a.reservation == b.reservation && a.licenses == b.licenses;
}

}  // namespace

const Job& next_of(const Core& core, const Job& job) {
  if (const ArrayTable::Array* array = whole_array(core, job))
    for (const auto& [task, id] : array->jobs) {
      const Job& next = core.jobs.at(id);
      if (next.waiting() != nullptr && next.waiting()->reason == model::WaitReason::kNone) return next;
    }
  return job;
}

TaskSet tasks_like(const Core& core, const Job& job, const Job& next) {
  const ArrayTable& arrays = core.jobs.arrays();
  std::vector<std::string> texts;
  const auto is_like = [&](JobId id) {
    const Job& other = core.jobs.at(id);
    return other.waiting() != nullptr && asks_for_the_same(other.spec, next.spec);
  };
  if (const ArrayTable::Array* array = whole_array(core, job)) {
    std::optional<uint32_t> first, last;  // of those that follow each other
    const auto put = [&] {
      if (first) texts.push_back(*first == *last ? std::to_string(*first) : fmt::format("{}-{}", *first, *last));
    };
    for (const auto& [task, id] : array->jobs) {
      if (!is_like(id)) continue;
      if (!last || task != *last + 1) put(), first = task;
      last = task;
    }
    put();
    for (const auto& [part, tasks] : array->parts)
      if (is_like(part)) texts.push_back(tasks.text());
  } else {
    const TaskSet* own = arrays.tasks_of(job);
    texts.push_back(own != nullptr ? own->text() : std::to_string(job.spec.array->task));
  }
  return TaskSet::parse(base::join(texts, ",")).value_or(TaskSet());
}

base::Result<Job*> cut_off(Core& core, const NamedTasks& named, CutTo what_for) {
  Job& part = core.jobs.at(named.job);
  if (named.some.empty()) return &part;
  const TaskSet& all = *core.jobs.arrays().tasks_of(part);
  TaskSet some = all.common(named.some);  // the same request may have cut others of them off
  if (some.empty())
    return base::fail(base::ErrorCode::kNotFound, "Invalid job id specified: these tasks do not wait any more");
  if (some.size() == all.size()) return &part;
  if (what_for == CutTo::kWait) GW_TRY_STATUS(admit_part(core, part));
  if (what_for == CutTo::kEnd) GW_TRY_STATUS(admit_ended_part(core, part));
  if (!core.jobs.has_numbers_for(1)) return base::fail(base::ErrorCode::kUnavailable, "all job numbers are used up");
  TaskSet rest = all.without(some);
  if (rest.ranges().size() > kMostRanges)
    return tl::unexpected(cannot_cut(part, fmt::format("what would be left of it are {} ranges; at most {} are kept",
                                                       rest.ranges().size(), kMostRanges)));
  constexpr size_t kShown = 200;
  core.out.job_event(
      part, "divided",
      fmt::format("tasks {} are job {} now", base::printable(some.text(), kShown), core.jobs.next().value));
  Job& cut = core.jobs.cut_array(part, std::move(some), std::move(rest));
  core.clients.charges.add_like(cut.id, part.id);
  cut.unmet = part.unmet;
  share_wait(core, part, cut);
  update_eligibility(core, cut);
  core.rows.job_and_spec(cut);
  core.rows.job(part);
  return &cut;
}

void set_throttle(Core& core, JobId id, uint32_t throttle) {
  ArrayTable& arrays = core.jobs.arrays();
  const ArrayTable::Array* array = arrays.find(id);
  if (array == nullptr || array->throttle == throttle) return;
  arrays.set_throttle(id, throttle);
  for (auto it = array->jobs.rbegin(); it != array->jobs.rend() && throttle > 0 && array->going() > throttle; ++it) {
    Job& task = core.jobs.at(it->second);
    if (task.waiting() == nullptr || array->aside.contains(it->first)) continue;
    arrays.put_aside(task);
    update_eligibility(core, task);
    core.rows.job(task);
  }
}

}  // namespace gw::ctld
