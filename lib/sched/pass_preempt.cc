// Taking running jobs off for one that ranks before them, where the order is preemptive (srtf). Victims are found by
// trial: those that rank last go first until the job fits, then every one that is not needed is given back, the last
// taken first, so that the set is irreducible.
#include <algorithm>

#include "sched/pass.h"

namespace gw::sched {
namespace {

/// A running job as its order would rank it now.
PendingJob at_present(const PendingJob& job, Time started, Time now) {
  PendingJob out = job;
  const auto less = [&](Duration d) { return d == base::kUnlimited ? d : std::max(d - (now - started), Duration{}); };
  out.remaining = less(job.remaining);
  out.time_limit = less(job.time_limit);
  return out;
}

}  // namespace

std::vector<JobId> Pass::candidates_to_take(const PendingJob& job, const PartitionFacts& partition) const {
  const double mine = order_.score(job, facts_.context());
  const int32_t tier = best_tier(view_.capacity(), job);
  std::vector<std::pair<std::tuple<int64_t, double, uint32_t>, JobId>> ranked;  // worst first
  for (const auto& [id, running] : view_.running()) {
    const auto holding = view_.capacity().holdings().find(id);
    if (holding == view_.capacity().holdings().end() || holding->second.partition != partition.name) continue;
    if (!running->preemptible || running->priority > job.priority || taken_.contains(id)) continue;
    // Who would have its turn before the job again takes the place back as soon as it has left it.
    if (best_tier(view_.capacity(), *running) > tier) continue;
    const PendingJob present = at_present(*running, holding->second.started, now_);
    const double score = order_.score(present, facts_.context());
    if (running->priority == job.priority && score >= mine) continue;
    ranked.push_back({{running->priority, score, ~id.value}, id});
  }
  std::sort(ranked.begin(), ranked.end());
  std::vector<JobId> out;
  for (const auto& [rank, id] : ranked) out.push_back(id);
  return out;
}

void Pass::take(JobId job) {
  taken_[job] = capacity().allocation_of(job);
  taken_holdings_[job] = capacity().holdings().at(job);
  capacity().release_all(job);
}

void Pass::give_back(JobId job) {
  const Holding& h = taken_holdings_.at(job);
  (void)capacity().allocate(job, h.partition, taken_.at(job), h.started, h.expected_end, true);
  taken_.erase(job);
  taken_holdings_.erase(job);
}

bool Pass::fits(const PendingJob& job, const PartitionFacts& partition) {
  const auto look = look_for(job, partition, job.time_limit);
  ++placements_;
  return look && place(capacity(), partition, job.request, *look).allocation;
}

bool Pass::make_room(const PendingJob& job, const PartitionFacts& partition, const std::vector<JobId>& candidates) {
  std::vector<JobId> victims;
  bool enough = false;
  for (JobId id : candidates) {
    take(id);
    victims.push_back(id);
    enough = fits(job, partition);
    if (enough) break;
  }
  // Given back: all of them if it was in vain, else the last taken first, each if the job still fits without it.
  for (auto it = victims.rbegin(); it != victims.rend(); ++it) {
    give_back(*it);
    if (enough && !fits(job, partition)) take(*it);
  }
  return enough;
}

/// What is free and what is being freed for the job is kept for it from now on. Made anew in each pass until it starts:
/// otherwise the first victim that has left would come back while the last is still leaving.
void Pass::claim(const PendingJob& job, const PartitionFacts& partition) {
  const auto look = look_for(job, partition, job.time_limit);
  if (!look) return;
  ++placements_;
  if (auto placement = place(capacity(), partition, job.request, *look); placement.allocation)
    book(timeline_, job, FutureStart{now_, std::move(*placement.allocation)});
}

bool Pass::start_by_taking(const PendingJob& job) {
  if (!job.components.empty()) return false;
  for (const std::string& name : job.partitions) {
    if (!is_open(job, name)) continue;
    const PartitionFacts& partition = *capacity().partition(name);
    const std::map<JobId, model::Allocation> before = taken_;
    if (!make_room(job, partition, candidates_to_take(job, partition))) continue;
    Group group;
    for (const auto& [id, allocation] : taken_)
      if (!before.contains(id)) group.decisions.emplace_back(Preempt{id, job.id});
    if (group.decisions.empty()) continue;
    if (view_.policy().grace.us > 0) {  // the start follows when they are gone
      claim(job, partition);
      for (const Decision& d : group.decisions) give_back(std::get<Preempt>(d).job);
      plan_.groups.push_back(std::move(group));
      return true;
    }
    const size_t preempts = group.decisions.size();
    if (!start_parts(job, name, job.time_limit, group) || group.decisions.size() == preempts) {
      undo(group);
      continue;
    }
    plan_.groups.push_back(std::move(group));
    ++starts_;
    return true;
  }
  return false;
}

}  // namespace gw::sched
