// Runs that the state does not know. See foreign_runs.h.
#include "ctld/core/tables/foreign_runs.h"

#include <algorithm>
#include <span>
#include <tuple>

namespace gw::ctld {
namespace {

/// Those of one job, in a list that is in order.
std::span<const ForeignRun> of_one_job(const std::vector<ForeignRun>& runs, uint32_t job) {
  const auto first = std::partition_point(runs.begin(), runs.end(), [&](const auto& run) { return run.job < job; });
  const auto last = std::partition_point(first, runs.end(), [&](const auto& run) { return run.job == job; });
  return {first, last};
}

}  // namespace

void ForeignRuns::set(base::NodeId node, std::vector<ForeignRun> runs) {
  std::stable_sort(runs.begin(), runs.end(), [](const ForeignRun& a, const ForeignRun& b) {
    return std::tie(a.job, a.attempt) < std::tie(b.job, b.attempt);
  });
  for (const ForeignRun& run : on(node)) unlink(run);
  for (const ForeignRun& run : runs)
    if (run.first) led_by_[run.first].emplace(run.job, run.attempt, node);
  if (runs.empty())
    runs_.erase(node);
  else
    runs_[node] = std::move(runs);
}

void ForeignRuns::unlink(const ForeignRun& run) {
  const auto led = led_by_.find(run.first);
  if (led == led_by_.end()) return;
  led->second.erase({run.job, run.attempt, run.node});
  if (led->second.empty()) led_by_.erase(led);
}

const ForeignRun* ForeignRuns::find(base::NodeId node, uint32_t job, uint32_t attempt) const {
  const std::span<const ForeignRun> runs = of_one_job(on(node), job);
  const auto at =
      std::partition_point(runs.begin(), runs.end(), [&](const auto& run) { return run.attempt < attempt; });
  return at == runs.end() || at->attempt != attempt ? nullptr : &*at;
}

bool ForeignRuns::has(base::NodeId node, uint32_t job, uint32_t attempt) const {
  return find(node, job, attempt) != nullptr;
}

bool ForeignRuns::erase(base::NodeId node, uint32_t job, uint32_t attempt) {
  const ForeignRun* found = find(node, job, attempt);
  if (found == nullptr) return false;
  unlink(*found);
  std::vector<ForeignRun>& runs = runs_.at(node);
  std::erase_if(runs, [&](const ForeignRun& run) { return run.job == job && run.attempt == attempt; });
  if (runs.empty()) runs_.erase(node);
  return true;
}

const std::vector<ForeignRun>& ForeignRuns::on(base::NodeId node) const {
  static const std::vector<ForeignRun> kNone;
  const auto it = runs_.find(node);
  return it == runs_.end() ? kNone : it->second;
}

std::vector<ForeignRun> ForeignRuns::parts_of(const ForeignRun& run) const {
  std::vector<ForeignRun> parts;
  for (const auto& [node, runs] : runs_)
    for (const ForeignRun& other : of_one_job(runs, run.job))
      if (other.attempt == run.attempt && other.kin == run.kin) parts.push_back(other);
  return parts;
}

std::vector<ForeignRun> ForeignRuns::of_job(uint32_t job, Kin kin) const {
  std::vector<ForeignRun> found;
  for (const auto& [node, runs] : runs_)
    for (const ForeignRun& run : of_one_job(runs, job))
      if (run.kin == kin) found.push_back(run);
  return found;
}

std::vector<ForeignRun> ForeignRuns::left_behind_by(base::NodeId first) const {
  std::vector<ForeignRun> found;
  const auto led = led_by_.find(first);
  if (led == led_by_.end()) return found;
  for (const auto& [job, attempt, node] : led->second)
    if (!has(first, job, attempt)) found.push_back(*find(node, job, attempt));
  return found;
}

std::vector<ForeignRun> ForeignRuns::left_behind_by(const ForeignRun& gone) const {
  std::vector<ForeignRun> found;
  const auto led = led_by_.find(gone.node);
  if (led == led_by_.end()) return found;
  for (auto it = led->second.lower_bound({gone.job, gone.attempt, base::NodeId()}); it != led->second.end(); ++it) {
    const auto& [job, attempt, node] = *it;
    if (job != gone.job || attempt != gone.attempt) break;
    found.push_back(*find(node, job, attempt));
  }
  return found;
}

const ForeignRun* ForeignRuns::newest_of(base::JobId job) const {
  const ForeignRun* newest = nullptr;
  for (const auto& [node, runs] : runs_)
    for (const ForeignRun& run : of_one_job(runs, job.value))
      if (run.kin == Kin::kNewer && (newest == nullptr || run.attempt > newest->attempt)) newest = &run;
  return newest;
}

std::string ForeignRuns::text_on(base::NodeId node) const {
  constexpr size_t kShown = 10;
  const std::vector<ForeignRun>& runs = on(node);
  std::string out;
  for (size_t i = 0; i < std::min(runs.size(), kShown); ++i) out += (i > 0 ? ", " : "") + runs[i].text();
  return runs.size() > kShown ? out + ", ..." : out;
}

}  // namespace gw::ctld
