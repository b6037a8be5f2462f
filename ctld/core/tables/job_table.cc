// See job_table.h.
#include "ctld/core/tables/job_table.h"

#include <algorithm>
#include <utility>

#include "sched/queue/queue.h"

namespace gw::ctld {

using base::JobId;
using model::Job;

JobTable::JobTable() : next_holding_id_(sched::kFirstHoldingId) {}

const Job* JobTable::find(JobId id) const {
  const auto it = jobs_.find(id);
  return it == jobs_.end() ? nullptr : &it->second;
}

Job* JobTable::find(JobId id) {
  const auto it = jobs_.find(id);
  return it == jobs_.end() ? nullptr : &it->second;
}

Job& JobTable::enter(base::Time now, model::JobSpec spec) {
  const JobId id = next_;
  skip_to(JobId(id.value + 1));
  Job job;
  job.id = id;
  job.spec = std::move(spec);
  job.submitted = now;
  job.phase = model::Waiting{};
  job.waiting()->since = now;
  return restore(std::move(job));
}

Job& JobTable::enter_array(base::Time now, model::JobSpec spec, model::ArrayTasks tasks) {
  arrays_.add(next_, std::move(tasks));
  spec.array->job = next_;
  return enter(now, std::move(spec));
}

Job& JobTable::make_next_task(Job& array) {
  count_submitted(array, -1);
  const uint32_t index = arrays_.take_next(array);
  if (arrays_.tasks_of(array)->empty()) {
    arrays_.part_became_task(array);
    array.spec.array->task = index;
    count_submitted(array, 1);
    arrays_.came(array);
    return array;
  }
  count_submitted(array, 1);
  model::JobSpec spec = array.spec;
  spec.array->task = index;
  spec.dependency.clear();  // the array has waited for it
  return enter(array.submitted, std::move(spec));
}

Job& JobTable::cut_array(Job& part, model::TaskSet taken, model::TaskSet rest) {
  count_submitted(part, -1);
  arrays_.cut(part, next_, std::move(taken), std::move(rest));
  count_submitted(part, 1);
  return enter(part.submitted, part.spec);
}

Job& JobTable::restore(Job job) {
  share_limits(job.spec);
  ++count(job.state);
  if (!model::is_end(job.state)) {
    ++live_;
    count_submitted(job, 1);
  }
  const JobId id = job.id;
  if (job.spec.array) arrays_.came(job);
  return jobs_[id] = std::move(job);
}

void JobTable::erase(JobId id) {
  const auto it = jobs_.find(id);
  if (it == jobs_.end()) return;
  --count(it->second.state);
  dependents_.erase(id);
  const Job job = std::move(it->second);
  jobs_.erase(it);
  if (job.spec.array) arrays_.went(job, jobs_.contains(job.spec.array->job));
}

bool JobTable::advance(Job& job, model::JobEvent event) {
  const auto to = model::next_state(job.state, event);
  if (!to) return count_unexpected_event(), false;
  --count(job.state);
  const model::JobState before = std::exchange(job.state, *to);
  ++count(job.state);
  if (model::is_end(job.state)) {
    --live_;
    count_submitted(job, -1);
  } else if (model::is_end(before)) {
    ++live_;
    count_submitted(job, 1);
  }
  if (job.spec.array) arrays_.moved(job, before);
  return true;
}

void JobTable::change_spec(Job& job, model::JobSpec spec) {
  count_submitted(job, -1);
  job.spec = std::move(spec);
  count_submitted(job, 1);
}

/// An account that only repeats the QOS goes with it.
void JobTable::change_qos(Job& job, const std::string& qos) {
  count_submitted(job, -1);
  if (job.spec.account == job.spec.qos) job.spec.account = qos;
  job.spec.qos = qos;
  count_submitted(job, 1);
}

size_t JobTable::submitted_to(const std::string& qos) const {
  const auto of_users = submitted_.find(qos);
  if (of_users == submitted_.end()) return 0;
  size_t sum = 0;
  for (const auto& [uid, jobs] : of_users->second) sum += jobs;
  return sum;
}

size_t JobTable::submitted_to(const std::string& qos, uint32_t uid) const {
  const auto of_users = submitted_.find(qos);
  if (of_users == submitted_.end()) return 0;
  const auto mine = of_users->second.find(uid);
  return mine == of_users->second.end() ? 0 : mine->second;
}

bool JobTable::has_numbers_for(size_t more) const { return next_.value + more <= sched::kFirstHoldingId; }

void JobTable::skip_to(JobId next) {
  next_ = next;
  is_next_new_ = true;
}

JobId JobTable::take_holding_id() {
  const JobId id = next_holding_id_;
  skip_holding_ids_to(JobId(id.value + 1));
  return id;
}

void JobTable::skip_holding_ids_to(JobId next) {
  next_holding_id_ = next;
  is_next_holding_id_new_ = true;
}

store::Batch JobTable::take_rows() {
  store::Batch rows = arrays_.take_rows();
  if (std::exchange(is_next_new_, false)) rows.push_back(store::PutMeta{"next_job", next_.text()});
  if (std::exchange(is_next_holding_id_new_, false))
    rows.push_back(store::PutMeta{"next_piece", next_holding_id_.text()});
  return rows;
}

JobId JobTable::first_named(uint32_t uid, const std::string& name) const {
  const auto of_user = named_.find(uid);
  if (of_user == named_.end()) return {};
  const auto jobs = of_user->second.find(name);
  return jobs == of_user->second.end() ? JobId() : *jobs->second.begin();
}

void JobTable::list_name(const Job& job, bool is_live) {
  auto& of_user = named_[job.spec.uid];
  auto& jobs = of_user[job.spec.name];
  if (is_live)
    jobs.insert(job.id);
  else
    jobs.erase(job.id);
  if (!jobs.empty()) return;
  of_user.erase(job.spec.name);
  if (of_user.empty()) named_.erase(job.spec.uid);
}

/// An array counts as the tasks that are left of it.
void JobTable::count_submitted(const Job& job, int change) {
  list_name(job, change > 0);
  const model::TaskSet* left = arrays_.tasks_of(job);
  const uint32_t tasks = left == nullptr ? 1 : std::max(left->size(), 1u);
  auto& of_users = submitted_[job.spec.qos];
  uint32_t& jobs = of_users[job.spec.uid];
  jobs += static_cast<uint32_t>(change) * tasks;
  if (jobs != 0) return;
  of_users.erase(job.spec.uid);
  if (of_users.empty()) submitted_.erase(job.spec.qos);
}

void JobTable::share_limits(model::JobSpec& spec) {
  constexpr size_t kMaxSets = 64;
  const auto same = std::find(limit_sets_.begin(), limit_sets_.end(), spec.launch.limits);
  if (same != limit_sets_.end()) {
    spec.launch.limits = *same;
    return;
  }
  if (limit_sets_.size() == kMaxSets) limit_sets_.erase(limit_sets_.begin());
  limit_sets_.push_back(spec.launch.limits);
}

}  // namespace gw::ctld
