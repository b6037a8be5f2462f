// See standings.h.
#include "sched/view/standings.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "sched/quota/usage.h"

namespace gw::sched {
namespace {

constexpr double kRatePerGpu = 1e6;  // of usage_rate()

int64_t rate_of(const Capacity& capacity, JobId id) {
  const auto holding = capacity.holdings().find(id);
  if (holding == capacity.holdings().end()) return 0;
  int64_t rate = 0;
  for (const NodeId node : holding->second.nodes) {
    auto share = capacity.share_of(id, node);
    if (!share) continue;
    share->cpus = share->cores.size() * capacity.node(node)->threads();  // the ledger keeps cores
    rate += usage_rate(*share);
  }
  return rate;
}

}  // namespace

int64_t rate_held(const ClusterView& view, JobId job) {
  int64_t rate = rate_of(view.capacity(), job);
  for (const JobId extension : view.extensions_of(job)) rate += rate_of(view.capacity(), extension);
  const auto running = view.running().find(job);
  if (running == view.running().end()) return rate;
  for (const Component& part : running->second->components) rate += rate_of(view.capacity(), part.id);
  return rate;
}

double gpus_held(const ClusterView& view, JobId job) { return static_cast<double>(rate_held(view, job)) / kRatePerGpu; }

Standings::Standings(const ClusterView& view, Time now) : view_(view), facts_(now, view.capacity(), view.usage()) {
  const bool by_holdings = view.orders().needs().holdings;
  if (!by_holdings && !view.orders().are_preemptive()) return;
  list_runs();
  if (!by_holdings) return;
  std::set<JobId> movers;  // they hold as much elsewhere
  for (const auto& [made, n] : view.nominations()) {
    if (runs_.contains(n.job)) movers.insert(n.job);
    add(view.queue().find(n.job), n.partition, n.allocation);
  }
  for (const auto& [id, run] : runs_) {
    const QuotaLedger::Holder* holder = view.quota().holder(id);
    const bool leaves = holder != nullptr && holder->is_leaving && !movers.contains(id);
    if (!leaves) held_[{run.pool, run.job->uid}] += run.rate;
  }
}

void Standings::list_runs() {
  const Capacity& capacity = view_.capacity();
  for (const auto& [id, job] : view_.running()) {
    const auto holding = capacity.holdings().find(id);
    if (job->gang || job->whole || job->suspended || holding == capacity.holdings().end()) continue;
    const Pool pool{view_.quota().tree().leaf_of(job->qos), holding->second.partition};
    runs_[id] = Run{job.get(), pool, holding->second.started, rate_held(view_, id)};
    in_pool_[pool].push_back(id);
  }
}

double Standings::held_by_user_of(const PendingJob& job, uint32_t leaf, const std::string& partition) const {
  if (!goes_by_holdings(partition)) return 0;
  const auto held = held_.find({{leaf, partition}, job.uid});
  return held == held_.end() ? 0 : static_cast<double>(held->second) / kRatePerGpu;
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
    JobFacts facts = running_facts(*run.job, run.since, static_cast<double>(run.rate) / kRatePerGpu, context().now);
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
  Coming coming{{view_.quota().tree().leaf_of(job->qos), partition}, job->uid, usage_rate(allocation)};
  const auto [known, is_new] = coming_.try_emplace(job->id, coming);
  if (!is_new) held_[{known->second.pool, known->second.uid}] -= known->second.rate;  // a place was kept for it before
  known->second = coming;
  held_[{coming.pool, coming.uid}] += coming.rate;
}

void Standings::remove(JobId id) {
  const auto run = runs_.find(id);
  if (run == runs_.end() || !goes_by_holdings(run->second.pool.second)) return;
  held_[{run->second.pool, run->second.job->uid}] -= run->second.rate;
}

}  // namespace gw::sched
