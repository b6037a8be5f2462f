// See dependents.h.
#include "ctld/core/tables/dependents.h"

#include <utility>

namespace gw::ctld {

using base::JobId;

void Dependents::set(JobId job, std::vector<Awaited> others) {
  const auto known = waits_for_.find(job);
  if (known != waits_for_.end() && known->second == others) return;
  erase(job);
  if (others.empty()) return;
  for (const Awaited& other : others) waiting_[other].insert(job);
  waits_for_.emplace(job, std::move(others));
}

void Dependents::erase(JobId job) {
  const auto it = waits_for_.find(job);
  if (it == waits_for_.end()) return;
  for (const Awaited& other : it->second) {
    const auto waiting = waiting_.find(other);
    if (waiting == waiting_.end()) continue;  // named twice
    waiting->second.erase(job);
    if (waiting->second.empty()) waiting_.erase(waiting);
  }
  waits_for_.erase(it);
}

bool Dependents::knows(const Awaited& other, JobId job) const {
  const auto it = waiting_.find(other);
  return it != waiting_.end() && it->second.contains(job);
}

std::vector<JobId> Dependents::of(const Awaited& other) const {
  const auto it = waiting_.find(other);
  if (it == waiting_.end()) return {};
  return {it->second.begin(), it->second.end()};
}

void Dependents::look_again_at_those_of(const Awaited& other) {
  const auto it = waiting_.find(other);
  if (it != waiting_.end()) queue_.insert(it->second.begin(), it->second.end());
}

void Dependents::look_again_at_those_of_tasks(JobId array) {
  for (auto it = waiting_.lower_bound({array, 0}); it != waiting_.end() && it->first.job == array; ++it)
    queue_.insert(it->second.begin(), it->second.end());
}

std::optional<JobId> Dependents::take() {
  if (queue_.empty()) return std::nullopt;
  const JobId first = *queue_.begin();
  queue_.erase(queue_.begin());
  return first;
}

}  // namespace gw::ctld
