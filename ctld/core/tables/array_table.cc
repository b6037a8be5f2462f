// See array_table.h.
#include "ctld/core/tables/array_table.h"

#include <utility>

#include "base/check.h"
#include "wire/convert.h"
#include "wire/row_bytes.h"

namespace gw::ctld {

using base::JobId;
using model::Job;
using model::JobState;

const ArrayTable::Array* ArrayTable::find(JobId array) const {
  const auto it = arrays_.find(array);
  return it == arrays_.end() ? nullptr : &it->second;
}

void ArrayTable::add(JobId array, model::ArrayTasks tasks) {
  arrays_[array].tasks = std::move(tasks);
  changed_.insert(array);
}

uint32_t ArrayTable::take_next(JobId array) {
  changed_.insert(array);
  return arrays_.at(array).tasks.left.take_front();
}

void ArrayTable::give_up(JobId array) {
  model::ArrayTasks& tasks = arrays_.at(array).tasks;
  tasks.failed += tasks.left.size();
  tasks.left = {};
  changed_.insert(array);
}

void ArrayTable::came(const Job& task) {
  const auto it = arrays_.find(task.spec.array->job);
  if (it == arrays_.end()) return;
  it->second.jobs[task.spec.array->task] = task.id;
  count(task, task.state, 1);
}

void ArrayTable::went(const Job& job, bool is_known) {
  const auto it = arrays_.find(job.spec.array->job);
  if (it == arrays_.end()) return;
  if (job.spec.array->is_task()) {
    count(job, job.state, -1);
    it->second.jobs.erase(job.spec.array->task);
  }
  if (is_known || !it->second.jobs.empty()) return;
  changed_.insert(it->first);
  due_.erase(it->first);
  arrays_.erase(it);
}

void ArrayTable::moved(const Job& task, JobState before) {
  const auto it = arrays_.find(task.spec.array->job);
  if (it == arrays_.end()) return;
  count(task, before, -1);
  count(task, task.state, 1);
  look_again(it->first);
  if (!model::is_end(task.state)) return;
  ++(task.state == JobState::kCompleted ? it->second.tasks.completed : it->second.tasks.failed);
  changed_.insert(it->first);
}

void ArrayTable::count(const Job& task, JobState state, int change) {
  Array& array = arrays_.at(task.spec.array->job);
  if (!model::is_end(state)) array.live += static_cast<uint32_t>(change);
  if (state == JobState::kPending) array.waiting += static_cast<uint32_t>(change);
  if (state == JobState::kConfiguring) array.starting += static_cast<uint32_t>(change);
}

std::optional<JobId> ArrayTable::take_due() {
  if (due_.empty()) return std::nullopt;
  return due_.extract(due_.begin()).value();
}

void ArrayTable::room_for(uint32_t uid) {
  const auto it = waits_for_room_.find(uid);
  if (it == waits_for_room_.end()) return;
  due_.insert(it->second.extract(it->second.begin()).value());
  if (it->second.empty()) waits_for_room_.erase(it);
}

store::Batch ArrayTable::take_rows() {
  store::Batch rows;
  for (const JobId id : std::exchange(changed_, {})) {
    const auto it = arrays_.find(id);
    if (it == arrays_.end())
      rows.push_back(store::DropArray{id});
    else
      rows.push_back(store::PutArray{id, wire::row_bytes(wire::to_wire(it->second.tasks))});
  }
  return rows;
}

}  // namespace gw::ctld
