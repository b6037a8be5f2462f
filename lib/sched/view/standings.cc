// See standings.h.
#include "sched/view/standings.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace gw::sched {

Held held_with_parts(const ClusterView& view, JobId job) {
  Held held = held_of(view.capacity(), job);
  for (const JobId extension : view.extensions_of(job)) held += held_of(view.capacity(), extension);
  const auto running = view.running().find(job);
  if (running == view.running().end()) return held;
  for (const Component& part : running->second->components) held += held_of(view.capacity(), part.id);
  return held;
}

Standings::Standings(const ClusterView& view, Time now) : view_(view), facts_(now, view.capacity(), view.usage()) {
  const bool by_holdings = view.orders().needs().holdings;
  if (!by_holdings && !view.orders().are_preemptive()) return;
  list_runs();
  if (!by_holdings) return;
  for (const auto& [name, facts] : view.capacity().partitions())
    if (goes_by_holdings(name)) all_[name] = all_of(view.capacity(), name);
  std::set<JobId> movers;  // they hold as much elsewhere
  for (const auto& [made, n] : view.nominations()) {
    if (runs_.contains(n.job)) movers.insert(n.job);
    add(view.queue().find(n.job), n.partition, n.allocation);
  }
  for (const auto& [id, run] : runs_) {
    const QuotaLedger::Holder* holder = view.quota().holder(id);
    const bool leaves = holder != nullptr && holder->is_leaving && !movers.contains(id);
    if (!leaves) held_[{run.pool, run.job->uid}] += run.held;
  }
}

void Standings::list_runs() {
  const Capacity& capacity = view_.capacity();
  for (const auto& [id, job] : view_.running()) {
    const auto holding = capacity.holdings().find(id);
    if (job->gang || job->whole || job->suspended || holding == capacity.holdings().end()) continue;
    const Pool pool{view_.quota().tree().leaf_of(job->qos), holding->second.partition};
    runs_[id] = Run{job.get(), pool, holding->second.started, held_with_parts(view_, id)};
    in_pool_[pool].push_back(id);
  }
}

void Standings::tell_holdings(JobFacts& facts, uint32_t leaf, const std::string& partition, const Held& without) const {
  if (!goes_by_holdings(partition)) return;
  const auto known = held_.find({{leaf, partition}, facts.job.uid});
  Held held = known == held_.end() ? Held() : known->second;
  held -= without;
  facts.held_by_user = held.gpus();
  const auto all = all_.find(partition);
  facts.dominant_share = all == all_.end() ? 0 : held.dominant_of(all->second);
}

Held Standings::held_by(JobId running) const {
  const auto run = runs_.find(running);
  return run == runs_.end() ? Held() : run->second.held;
}

JobFacts Standings::of(const PendingJob& waiting, uint32_t leaf) const {
  JobFacts facts = waiting_facts(waiting, context().now, view_.orders().services());
  if (!waiting.partitions.empty()) tell_holdings(facts, leaf, waiting.partitions.front());
  return facts;
}

const std::vector<JobFacts>& Standings::ranked(uint32_t leaf, const std::string& partition) {
  const Pool pool{leaf, partition};
  const auto [known, is_new] = ranked_.try_emplace(pool);
  if (!is_new) return known->second;
  const Order& order = view_.orders().in(partition);
  std::vector<JobFacts> all;
  std::vector<std::pair<std::tuple<int64_t, double, uint32_t>, size_t>> ranks;
  for (const JobId id : in_pool_[pool]) {
    const Run& run = runs_.at(id);
    JobFacts facts = running_facts(*run.job, run.since, run.held.gpus(), context().now, view_.orders().services());
    tell_holdings(facts, leaf, partition);
    ranks.push_back({{run.job->priority, comparable(order.score(facts, context())), ~id.value}, all.size()});
    all.push_back(facts);
  }
  std::sort(ranks.begin(), ranks.end());
  for (const auto& [rank, at] : ranks) known->second.push_back(all[at]);
  return known->second;
}

std::vector<uint32_t> Standings::leaves_in(const std::string& partition) const {
  std::vector<uint32_t> out;
  for (const auto& [pool, jobs] : in_pool_)
    if (pool.second == partition) out.push_back(pool.first);
  return out;
}

void Standings::add(const PendingJob* job, const std::string& partition, const model::Allocation& allocation) {
  if (job == nullptr || !goes_by_holdings(partition)) return;
  Coming coming{{view_.quota().tree().leaf_of(job->qos), partition}, job->uid, held_of(allocation)};
  const auto [known, is_new] = coming_.try_emplace(job->id, coming);
  if (!is_new) held_[{known->second.pool, known->second.uid}] -= known->second.held;  // a place was kept for it before
  known->second = coming;
  held_[{coming.pool, coming.uid}] += coming.held;
}

void Standings::remove(JobId id) {
  const auto run = runs_.find(id);
  if (run == runs_.end() || !goes_by_holdings(run->second.pool.second)) return;
  held_[{run->second.pool, run->second.job->uid}] -= run->second.held;
}

}  // namespace gw::sched
