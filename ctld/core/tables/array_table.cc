// See array_table.h.
#include "ctld/core/tables/array_table.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/check.h"
#include "model/mail.h"
#include "wire/convert.h"
#include "wire/row_bytes.h"

namespace gw::ctld {

using base::JobId;
using model::Job;
using model::JobState;
using model::TaskSet;

model::ArrayTasks ArrayTable::Array::told(JobId id) const {
  const auto part = parts.find(id);
  return {part == parts.end() ? TaskSet() : part->second, throttle, completed, failed, {}};
}

const ArrayTable::Array* ArrayTable::find(JobId array) const {
  const auto it = arrays_.find(array);
  return it == arrays_.end() ? nullptr : &it->second;
}

ArrayTable::Array* ArrayTable::of(const Job& job) {
  const auto it = arrays_.find(job.spec.array->job);
  return it == arrays_.end() ? nullptr : &it->second;
}

const TaskSet* ArrayTable::tasks_of(const Job& part) const {
  if (!part.spec.is_array()) return nullptr;
  const Array* array = find(part.spec.array->job);
  if (array == nullptr) return nullptr;
  const auto it = array->parts.find(part.id);
  return it == array->parts.end() ? nullptr : &it->second;
}

std::optional<JobId> ArrayTable::job_of(JobId id, uint32_t task) const {
  const Array* array = find(id);
  if (array == nullptr) return std::nullopt;
  if (const auto made = array->jobs.find(task); made != array->jobs.end()) return made->second;
  for (const auto& [part, tasks] : array->parts)
    if (tasks.contains(task)) return part;
  return std::nullopt;
}

void ArrayTable::add(JobId id, model::ArrayTasks tasks) {
  Array& array = arrays_[id];
  array.throttle = tasks.throttle;
  array.parts[id] = std::move(tasks.left);
  changed(id, id, true);
}

void ArrayTable::changed(JobId id, JobId array, bool are_ranges_new) {
  Change& change = changed_[id];
  change.array = array;
  change.are_ranges_new |= are_ranges_new;
}

void ArrayTable::cut(const Job& part, JobId to, TaskSet taken, TaskSet rest) {
  const JobId id = part.spec.array->job;
  Array& array = arrays_.at(id);
  array.parts[part.id] = std::move(rest);
  array.parts[to] = std::move(taken);
  changed(part.id, id, true);
  changed(to, id, true);
}

bool ArrayTable::move(const Job& part, const Job& to, uint32_t task, size_t most_ranges) {
  const JobId id = part.spec.array->job;
  Array& array = arrays_.at(id);
  TaskSet &from = array.parts.at(part.id), &target = array.parts.at(to.id);
  if (std::max(from.ranges().size(), target.ranges().size()) + 2 > most_ranges || !from.take(task)) return false;
  target.add(task);
  changed(part.id, id, true);
  changed(to.id, id, true);
  return true;
}

void ArrayTable::set_throttle(JobId id, uint32_t throttle) {
  arrays_.at(id).throttle = throttle;
  changed(id, id);
  look_again(id);
}

bool ArrayTable::restore(JobId id, model::ArrayTasks tasks) {
  const JobId of = tasks.part_of ? tasks.part_of : id;
  if (tasks.part_of && !arrays_.contains(of)) return false;
  Array& array = arrays_[of];
  if (!tasks.part_of) {
    array.throttle = tasks.throttle;
    array.completed = tasks.completed;
    array.failed = tasks.failed;
    if (tasks.completed > 0) array.told_of |= model::kMailBegin;
  }
  if (!tasks.left.empty()) array.parts[id] = std::move(tasks.left);
  return true;
}

void ArrayTable::forget_lost(const std::map<JobId, Job>& jobs, const std::map<JobId, std::string>& held_aside) {
  for (auto it = arrays_.begin(); it != arrays_.end();) {
    const JobId id = it->first;
    Array& array = it->second;
    std::erase_if(array.parts, [&](const auto& part) {
      if (jobs.contains(part.first)) return false;
      if (held_aside.contains(part.first)) array.failed += part.second.size();
      changed(part.first, id);
      changed(id, id);
      return true;
    });
    const bool is_lost = !jobs.contains(id) && array.jobs.empty() && array.parts.empty();
    if (is_lost) changed(id, id);
    it = is_lost ? arrays_.erase(it) : std::next(it);
  }
}

uint32_t ArrayTable::take_next(const Job& part) {
  const JobId id = part.spec.array->job;
  changed(part.id, id);
  return arrays_.at(id).parts.at(part.id).take_front();
}

void ArrayTable::came(const Job& job) {
  Array* array = of(job);
  if (array == nullptr) return;
  if (!job.spec.array->is_task()) {
    array->waiting_parts += !model::is_end(job.state);
    return;
  }
  array->jobs[job.spec.array->task] = job.id;
  count(job, job.state, 1);
  const bool has_started = job.restarts > 0 || (job.placed() != nullptr && job.placed()->started) ||
                           (job.ended() != nullptr && job.ended()->started);
  if (has_started) array->told_of |= model::kMailBegin;
  if (job.waiting() != nullptr) set_wait(job, job.waiting()->reason);
}

void ArrayTable::went(const Job& job, bool is_known) {
  const auto it = arrays_.find(job.spec.array->job);
  if (it == arrays_.end()) return;
  Array& array = it->second;
  if (job.spec.array->is_task()) {
    count(job, job.state, -1);
    array.jobs.erase(job.spec.array->task);
  } else if (array.parts.erase(job.id) > 0) {
    changed(job.id, it->first);
  }
  if (is_known || !array.jobs.empty() || !array.parts.empty()) return;
  changed(it->first, it->first);
  due_.erase(it->first);
  arrays_.erase(it);
}

void ArrayTable::moved(const Job& job, JobState before) {
  Array* array = of(job);
  if (array == nullptr) return;
  look_again(job.spec.array->job);
  if (!job.spec.array->is_task()) return model::is_end(job.state) ? part_ended(job) : void();
  const uint32_t task = job.spec.array->task;
  count(job, before, -1);
  count(job, job.state, 1);
  drop_aside(*array, task);
  if (model::is_end(before)) {
    --(before == JobState::kCompleted ? array->completed : array->failed);
    array->told_of &= ~model::kMailEnd;  // it has not ended any more
    return changed(job.spec.array->job, job.spec.array->job);
  }
  if (!model::is_end(job.state)) return;
  ++(job.state == JobState::kCompleted ? array->completed : array->failed);
  changed(job.spec.array->job, job.spec.array->job);
}

void ArrayTable::part_ended(const Job& part) {
  Array& array = *of(part);
  --array.waiting_parts;
  array.ready.erase(part.id);
  if (const TaskSet* tasks = tasks_of(part)) array.failed += tasks->size();
  changed(part.spec.array->job, part.spec.array->job);
}

void ArrayTable::part_became_task(const Job& part) {
  Array& array = *of(part);
  --array.waiting_parts;
  array.ready.erase(part.id);
  array.parts.erase(part.id);
}

void ArrayTable::count(const Job& task, JobState state, int change) {
  Array& array = arrays_.at(task.spec.array->job);
  if (!model::is_end(state)) array.live += static_cast<uint32_t>(change);
  if (state == JobState::kPending) array.waiting += static_cast<uint32_t>(change);
  if (state == JobState::kConfiguring) array.starting += static_cast<uint32_t>(change);
}

void ArrayTable::set_ready(const Job& part, bool is_ready) {
  Array* array = of(part);
  if (array == nullptr) return;
  if (!is_ready) {
    array->ready.erase(part.id);
    return;
  }
  array->ready.insert(part.id);
  look_again(part.spec.array->job);
}

bool ArrayTable::tell_once(JobId id, uint32_t event) {
  const auto it = arrays_.find(id);
  if (it == arrays_.end() || (it->second.told_of & event) != 0) return false;
  it->second.told_of |= event;
  return true;
}

bool ArrayTable::is_above(const Job& task) const {
  const Array* array = find(task.spec.array->job);
  return array != nullptr && array->aside.contains(task.spec.array->task) && !array->has_room();
}

void ArrayTable::set_wait(const Job& task, model::WaitReason reason) {
  Array* array = of(task);
  if (array == nullptr) return;
  const uint32_t index = task.spec.array->task;
  const bool was_aside = array->aside.contains(index);
  drop_aside(*array, index);
  if (reason == model::WaitReason::kNone) return;
  // What waits for ever is in nobody's way.
  const bool is_held = reason == model::WaitReason::kJobHeldUser || reason == model::WaitReason::kJobHeldAdmin ||
                       reason == model::WaitReason::kDependencyNeverSatisfied;
  array->aside[index] = is_held;
  array->held += is_held;
  if (reason == model::WaitReason::kArrayTaskLimit) array->above.insert(index);
  if (!was_aside || is_held) look_again(task.spec.array->job);
}

void ArrayTable::drop_aside(Array& array, uint32_t task) {
  array.above.erase(task);
  const auto it = array.aside.find(task);
  if (it == array.aside.end()) return;
  array.held -= it->second;
  array.aside.erase(it);
}

void ArrayTable::put_aside(const Job& task) {
  if (Array* array = of(task)) array->aside.try_emplace(task.spec.array->task, false);
}

std::optional<ArrayTable::Due> ArrayTable::take_due() {
  if (due_.empty()) return std::nullopt;
  const auto first = due_.extract(due_.begin());
  return Due{first.key(), first.mapped()};
}

void ArrayTable::room_for(uint32_t uid) {
  const auto it = waits_for_room_.find(uid);
  if (it == waits_for_room_.end()) return;
  due_[it->second.extract(it->second.begin()).value()] = uid;
  if (it->second.empty()) waits_for_room_.erase(it);
}

void ArrayTable::room_for_all() {
  for (auto it = waits_for_room_.begin(); it != waits_for_room_.end();) room_for((it++)->first);
}

store::Batch ArrayTable::take_rows() {
  store::Batch rows;
  for (const auto& [id, change] : std::exchange(changed_, {})) {
    const JobId of = change.array;
    const Array* array = find(of);
    if (array == nullptr || (id != of && !array->parts.contains(id))) {
      rows.push_back(store::DropArray{id});
      continue;
    }
    const auto part = array->parts.find(id);
    const bool has_left = part != array->parts.end() && !part->second.empty();
    model::ArrayTasks counts{{}, array->throttle, array->completed, array->failed, {}};
    if (id != of) counts = {{}, 0, 0, 0, of};
    wire::ArrayTasks row = wire::to_wire(counts), ranges;
    row.set_next(has_left ? part->second.front() : model::kMaxArrayIndex + 1);
    store::PutArray put{id, wire::row_bytes(row)};
    if (has_left && change.are_ranges_new) {
      wire::to_wire(part->second, *ranges.mutable_left());
      put.ranges = wire::row_bytes(ranges);
    }
    rows.emplace_back(std::move(put));
  }
  return rows;
}

}  // namespace gw::ctld
