// See wait_clocks.h.
#include "sched/queue/wait_clocks.h"

#include <algorithm>

namespace gw::sched {

using model::WaitCause;
using model::WaitSplit;

WaitClocks::WaitClocks() {
  for (size_t i = 0; i < own_.size(); ++i) own_[i].cause = static_cast<WaitCause>(i);
}

WaitSplit WaitClocks::Clock::at(Time now) const {
  WaitSplit out = counted;
  if (now > since) out.add(cause, now - since);
  return out;
}

void WaitClocks::bring(JobId job, WaitSplit waited) {
  const auto [it, is_new] = waits_.try_emplace(job);
  if (is_new) it->second.beside = std::move(waited);
}

/// Takes the job off the clock that it waits by.
void WaitClocks::let_go(JobId job, Wait& wait) {
  if (wait.until != Time::never()) edges_.erase({wait.until, job});
  wait.until = Time::never();
  if (wait.clock == nullptr) return;
  --wait.clock->jobs;
  if (wait.of && wait.clock->jobs == 0) classes_.erase(*wait.of);
  wait.clock = nullptr;
  wait.of.reset();
}

void WaitClocks::move(JobId job, Clock& to, std::optional<Classes::iterator> of, Time until, Time now) {
  Wait& wait = waits_[job];
  if (wait.clock != &to) {
    if (wait.clock != nullptr) wait.beside += wait.clock->at(now);
    wait.beside -= to.at(now);
    ++to.jobs;
  }
  // The new clock may be the old one, which must not go with its last job.
  if (wait.clock == &to) {
    if (wait.until != Time::never()) edges_.erase({wait.until, job});
  } else {
    let_go(job, wait);
  }
  wait.clock = &to;
  wait.of = of;
  wait.until = until;
  if (until != Time::never()) edges_.emplace(until, job);
}

void WaitClocks::wait_for(JobId job, WaitCause cause, Time now) {
  Clock& clock = own_[static_cast<size_t>(cause)];
  if (clock.jobs == 0) clock.since = now;
  move(job, clock, std::nullopt, Time::never(), now);
}

void WaitClocks::wait_in(JobId job, const ClassKey& job_class, Time until, Time now) {
  const auto [it, is_new] = classes_.try_emplace(job_class);
  if (is_new) it->second.since = now;
  move(job, it->second, it, until, now);
}

void WaitClocks::tell(const ClassKey& job_class, WaitCause cause, Time now) {
  const auto it = classes_.find(job_class);
  if (it == classes_.end() || it->second.cause == cause) return;
  Clock& clock = it->second;
  clock.counted = clock.at(now);
  clock.since = std::max(clock.since, now);
  clock.cause = cause;
}

std::optional<JobId> WaitClocks::due(Time now) const {
  if (edges_.empty() || edges_.begin()->first > now) return std::nullopt;
  return edges_.begin()->second;
}

WaitSplit WaitClocks::split(JobId job, Time now) const {
  const auto it = waits_.find(job);
  if (it == waits_.end()) return {};
  WaitSplit out = it->second.beside;
  if (it->second.clock != nullptr) out += it->second.clock->at(now);
  return out;
}

WaitSplit WaitClocks::leave(JobId job, Time now) {
  WaitSplit out = split(job, now);
  const auto it = waits_.find(job);
  if (it == waits_.end()) return out;
  let_go(job, it->second);
  waits_.erase(it);
  return out;
}

std::vector<JobId> WaitClocks::in_classes() const {
  std::vector<JobId> out;
  for (const auto& [job, wait] : waits_)
    if (wait.of) out.push_back(job);
  std::sort(out.begin(), out.end());
  return out;
}

std::array<uint64_t, model::kWaitCauses> WaitClocks::waiting() const {
  std::array<uint64_t, model::kWaitCauses> out{};
  for (const Clock& clock : own_) out[static_cast<size_t>(clock.cause)] += clock.jobs;
  for (const auto& [key, clock] : classes_) out[static_cast<size_t>(clock.cause)] += clock.jobs;
  return out;
}

}  // namespace gw::sched
