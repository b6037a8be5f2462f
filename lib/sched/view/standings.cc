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
  const Needs needs = view.orders().needs();
  for (const auto& [name, facts] : view.capacity().partitions()) {
    if (!needs.holdings && !needs.parts && !needs.survey) break;
    const Needs own = view.orders().needs_in(name);
    if (own.holdings || own.parts) all_[name] = all_of(view.capacity(), name);
    if (own.parts || own.survey) free_[name] = free_in(view.capacity(), name);
  }
  if (needs.holdings || needs.survey || view.orders().are_preemptive()) list_runs();
  if (needs.holdings) count_holdings();
  if (needs.survey) make_surveys();
}

const Order& Standings::order_of(const Pool& pool) const {
  const QosNode& node = view_.quota().tree().qos(pool.first);
  const bool is_own = node.is_own && node.parent != kNoQos;
  return view_.orders().in(pool.second, is_own ? view_.quota().tree().qos(node.parent).name : node.name);
}

void Standings::count_holdings() {
  std::set<JobId> movers;  // they hold as much elsewhere
  for (const auto& [made, n] : view_.nominations()) {
    if (runs_.contains(n.job)) movers.insert(n.job);
    add(view_.queue().find(n.job), n.partition, n.allocation);
  }
  for (const auto& [id, run] : runs_) {
    const QuotaLedger::Holder* holder = view_.quota().holder(id);
    const bool leaves = holder != nullptr && holder->is_leaving && !movers.contains(id);
    if (!leaves) held_[{run.pool, run.job->uid}] += run.held;
  }
}

/// Who waits is looked at where it would rather run: in the first partition that it names. Of each class those that are
/// served first, as many as make no more than a few thousand in all.
void Standings::make_surveys() {
  constexpr size_t kMost = 4'096, kMostOfAClass = 64;
  const size_t each = std::clamp<size_t>(kMost / std::max<size_t>(view_.queue().classes().size(), 1), 1, kMostOfAClass);
  std::map<Pool, std::vector<Contender>> contenders;
  for (const auto& [key, c] : view_.queue().classes()) {
    const PendingJob& shape = c.shape();
    const uint32_t leaf = view_.quota().tree().leaf_of(shape.qos);
    if (shape.partitions.empty() || !needs_of({leaf, shape.partitions.front()}).survey) continue;
    const auto milli = static_cast<uint64_t>(asked_by(shape).gpu_milli);
    std::vector<Contender>& all = contenders[{leaf, shape.partitions.front()}];
    size_t listed = 0;
    for (auto member = c.members.begin(); member != c.members.end() && listed < each; ++member, ++listed)
      all.push_back({of(member->second, leaf), 1, milli});
    all.back().alike = 1 + c.members.size() - listed;
  }
  for (auto& [pool, all] : contenders) {
    auto offered = static_cast<uint64_t>(free_[pool.second].gpu_milli);
    for (const JobId id : in_pool_[pool]) {
      const Run& run = runs_.at(id);
      JobFacts facts = running_facts(*run.job, run.since, run.held.gpus(), context().now, view_.orders().services());
      tell_pool(facts, pool.first, pool.second);
      const auto milli = static_cast<uint64_t>(run.held.gpu_milli);
      all.push_back({facts, 1, milli});
      offered += milli;
    }
    surveys_[pool] = order_of(pool).survey(all, offered);
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

void Standings::tell_pool(JobFacts& facts, uint32_t leaf, const std::string& partition, const Held& without) const {
  const Needs needs = needs_of({leaf, partition});
  const auto all = all_.find(partition);
  if (needs.holdings) {
    const auto known = held_.find({{leaf, partition}, facts.job.uid});
    Held held = known == held_.end() ? Held() : known->second;
    held -= without;
    facts.held_by_user = held.gpus();
    facts.dominant_share = all == all_.end() ? 0 : held.dominant_of(all->second);
  }
  if (needs.parts && all != all_.end()) {
    facts.demand = parts_of(asked_by(facts.job), all->second);
    facts.free = parts_of(free_.at(partition), all->second);
  }
  const auto survey = needs.survey ? surveys_.find({leaf, partition}) : surveys_.end();
  facts.survey = survey == surveys_.end() ? nullptr : survey->second.get();
}

Held Standings::held_by(JobId running) const {
  const auto run = runs_.find(running);
  return run == runs_.end() ? Held() : run->second.held;
}

JobFacts Standings::of(const PendingJob& waiting, uint32_t leaf) const {
  JobFacts facts = waiting_facts(waiting, context().now, view_.orders().services());
  if (!waiting.partitions.empty()) tell_pool(facts, leaf, waiting.partitions.front());
  return facts;
}

const std::vector<const JobFacts*>& Standings::ranked(uint32_t leaf, const std::string& partition) {
  const Pool pool{leaf, partition};
  const auto [known, is_new] = ranked_.try_emplace(pool);
  Ranked& out = known->second;
  if (is_new) rank(pool, out);
  if (out.gone != gone_.size()) {
    std::erase_if(out.order, [this](const JobFacts* facts) { return gone_.contains(facts->job.id); });
    out.gone = gone_.size();
  }
  return out.order;
}

void Standings::rank(const Pool& pool, Ranked& out) {
  const auto& [leaf, partition] = pool;
  const Order& order = order_of(pool);
  std::vector<std::pair<std::tuple<int64_t, double, uint32_t>, size_t>> ranks;
  for (const JobId id : in_pool_[pool]) {
    const Run& run = runs_.at(id);
    JobFacts facts = running_facts(*run.job, run.since, run.held.gpus(), context().now, view_.orders().services());
    tell_pool(facts, leaf, partition);
    ranks.push_back({{run.job->priority, comparable(order.score(facts, context())), ~id.value}, out.facts.size()});
    out.facts.push_back(facts);
  }
  std::sort(ranks.begin(), ranks.end());
  for (const auto& [rank, at] : ranks) out.order.push_back(&out.facts[at]);
}

std::vector<uint32_t> Standings::leaves_in(const std::string& partition) const {
  std::vector<uint32_t> out;
  for (const auto& [pool, jobs] : in_pool_)
    if (pool.second == partition) out.push_back(pool.first);
  return out;
}

void Standings::add(const PendingJob* job, const std::string& partition, const model::Allocation& allocation) {
  if (job == nullptr) return;
  const Pool pool{view_.quota().tree().leaf_of(job->qos), partition};
  if (!needs_of(pool).holdings) return;
  Coming coming{pool, job->uid, held_of(allocation)};
  const auto [known, is_new] = coming_.try_emplace(job->id, coming);
  if (!is_new) held_[{known->second.pool, known->second.uid}] -= known->second.held;  // a place was kept for it before
  known->second = coming;
  held_[{coming.pool, coming.uid}] += coming.held;
}

void Standings::remove(JobId id) {
  gone_.insert(id);
  const auto run = runs_.find(id);
  if (run == runs_.end() || !needs_of(run->second.pool).holdings) return;
  held_[{run->second.pool, run->second.job->uid}] -= run->second.held;
}

}  // namespace gw::sched
