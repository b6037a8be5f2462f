// The runs of this node: of jobs, and of their steps, each job's after one another.
// Invariants: a run's key is that of its record, and never changes; a pointer to a run holds until it is removed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "noded/core/run.h"

namespace gw::noded {

class RunTable {
 public:
  const std::map<RunKey, Run>& all() const { return runs_; }
  /// To go over the runs while some are removed.
  std::vector<RunKey> keys() const {
    std::vector<RunKey> all;
    for (const auto& [key, run] : runs_) all.push_back(key);
    return all;
  }

  /// None: nullptr.
  const Run* find(RunKey key) const {
    const auto it = runs_.find(key);
    return it == runs_.end() ? nullptr : &it->second;
  }
  Run* find(RunKey key) {
    const auto it = runs_.find(key);
    return it == runs_.end() ? nullptr : &it->second;
  }

  /// A run of which nothing but its record is known.
  Run& add(wire::RunRecord record) {
    Run& run = runs_[RunKey::of(record)];
    run.key = RunKey::of(record);
    run.done.set_job(run.key.job);
    run.done.set_attempt(run.key.attempt);
    run.done.set_step(run.key.step);
    run.done.set_generation(record.generation());
    run.stop.grace_us = record.grace_us();
    run.record = std::move(record);
    return run;
  }
  void remove(RunKey key) { runs_.erase(key); }

  /// Of any attempt, and of its steps.
  bool has_live_run(uint32_t job) const {
    for (auto it = runs_.lower_bound({job, 0, 0}); it != runs_.end() && it->first.job == job; ++it)
      if (it->second.is_live()) return true;
    return false;
  }
  /// A prolog or epilog of the job runs.
  bool runs_program(uint32_t job) const {
    for (auto it = runs_.lower_bound({job, 0, 0}); it != runs_.end() && it->first.job == job; ++it)
      if (it->second.stage == Stage::kProlog || it->second.stage == Stage::kEpilog) return true;
    return false;
  }
  /// The earliest run of the job that waits for the end of another; none: nullptr.
  Run* queued(uint32_t job) {
    for (auto it = runs_.lower_bound({job, 0, 0}); it != runs_.end() && it->first.job == job; ++it)
      if (it->second.stage == Stage::kQueued) return &it->second;
    return nullptr;
  }

  /// The steps within a job's own run that are not over.
  std::vector<RunKey> live_steps(RunKey job) const {
    std::vector<RunKey> steps;
    for (auto it = runs_.upper_bound(job); it != runs_.end() && it->first.is_step_of(job); ++it)
      if (it->second.is_live()) steps.push_back(it->first);
    return steps;
  }
  /// Of all jobs.
  size_t count_live_steps() const {
    const auto is_live_step = [](const auto& entry) { return entry.first.is_step() && entry.second.is_live(); };
    return static_cast<size_t>(std::count_if(runs_.begin(), runs_.end(), is_live_step));
  }

 private:
  std::map<RunKey, Run> runs_;
};

}  // namespace gw::noded
