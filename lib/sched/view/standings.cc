// See standings.h.
#include "sched/view/standings.h"

#include <algorithm>
#include <tuple>

#include "sched/quota/usage.h"

namespace gw::sched {
namespace {

constexpr double kRatePerGpu = 1e6;  // of usage_rate()

double gpus_of(const Capacity& capacity, JobId id) {
  const auto holding = capacity.holdings().find(id);
  if (holding == capacity.holdings().end()) return 0;
  int64_t rate = 0;
  for (const NodeId node : holding->second.nodes)
    if (const auto share = capacity.share_of(id, node)) rate += usage_rate(*share);
  return static_cast<double>(rate) / kRatePerGpu;
}

}  // namespace

double gpus_held(const ClusterView& view, JobId job) {
  double gpus = gpus_of(view.capacity(), job);
  for (const JobId extension : view.extensions_of(job)) gpus += gpus_of(view.capacity(), extension);
  const auto running = view.running().find(job);
  if (running == view.running().end()) return gpus;
  for (const Component& part : running->second->components) gpus += gpus_of(view.capacity(), part.id);
  return gpus;
}

Standings::Standings(const ClusterView& view, Time now) : view_(view), facts_(now, view.capacity(), view.usage()) {
  const bool by_holdings = view.orders().need(&Needs::holdings);
  if (!by_holdings && !view.orders().are_preemptive()) return;
  list_runs();
  if (!by_holdings) return;
  for (const auto& [pool, ids] : in_pool_)  // in an order of their own, so that sums are the same each time
    for (const JobId id : ids) {
      const QuotaLedger::Holder* holder = view.quota().holder(id);
      if (holder == nullptr || !holder->is_leaving) held_[{pool, runs_.at(id).job->uid}] += runs_.at(id).gpus;
    }
  for (const auto& [made, n] : view.nominations()) add(view.queue().find(n.job), n.partition, n.allocation);
}

void Standings::list_runs() {
  const Capacity& capacity = view_.capacity();
  for (const auto& [id, job] : view_.running()) {
    const auto holding = capacity.holdings().find(id);
    if (job->gang || job->whole || job->suspended || holding == capacity.holdings().end()) continue;
    const Pool pool{view_.quota().tree().leaf_of(job->qos), holding->second.partition};
    runs_[id] = Run{job.get(), pool, holding->second.started, gpus_held(view_, id)};
    in_pool_[pool].push_back(id);
  }
}

double Standings::held_by_user_of(const PendingJob& job, uint32_t leaf, const std::string& partition) const {
  if (!goes_by_holdings(partition)) return 0;
  const auto held = held_.find({{leaf, partition}, job.uid});
  return held == held_.end() ? 0 : held->second;
}

JobFacts Standings::of(const PendingJob& waiting, uint32_t leaf) const {
  JobFacts facts = waiting_facts(waiting, context().now);
  if (!waiting.partitions.empty()) facts.held_by_user = held_by_user_of(waiting, leaf, waiting.partitions.front());
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
    JobFacts facts = running_facts(*run.job, run.since, run.gpus, context().now);
    facts.held_by_user = held_by_user_of(*run.job, leaf, partition);
    ranks.push_back({{run.job->priority, comparable(order.score(facts, context())), ~id.value}, all.size()});
    all.push_back(facts);
  }
  std::sort(ranks.begin(), ranks.end());
  for (const auto& [rank, at] : ranks) known->second.push_back(all[at]);
  return known->second;
}

void Standings::add(const PendingJob* job, const std::string& partition, const model::Allocation& allocation) {
  if (job == nullptr || !goes_by_holdings(partition)) return;
  const Pool pool{view_.quota().tree().leaf_of(job->qos), partition};
  held_[{pool, job->uid}] += static_cast<double>(usage_rate(allocation)) / kRatePerGpu;
}

void Standings::remove(JobId id) {
  const auto run = runs_.find(id);
  if (run == runs_.end() || !goes_by_holdings(run->second.pool.second)) return;
  held_[{run->second.pool, run->second.job->uid}] -= run->second.gpus;
}

}  // namespace gw::sched
