// See orders.h.
#include "sched/queue/orders.h"

#include <fmt/format.h>

#include <algorithm>

namespace gw::sched {
namespace {

/// As usage counts it (usage_rate()): whole GPUs, or threads by the thirty-two.
double gpus_asked(const PendingJob& job) {
  const model::Request& r = job.request;
  const uint32_t milli = r.gpu_milli;
  if (r.gpu_counting != model::GpuCounting::kNone && r.gpus > 0)
    return static_cast<double>(model::total_gpus(r, r.min_nodes)) * milli / model::kWholeGpu;
  return static_cast<double>(r.tasks) * r.cpus_per_task / 32;
}

Duration told_remaining(const PendingJob& job) {
  return job.remaining != base::kUnlimited ? job.remaining : job.time_limit;
}

}  // namespace

base::Result<PoolOrders> choose_pool_orders(const std::vector<model::Partition>& partitions, const std::string& cluster,
                                            const ChooseOrder& choose) {
  PoolOrders out;
  for (const model::Partition& p : partitions) {
    if (p.order.empty() && p.order_weights.empty()) continue;
    auto chosen = choose(p.order.empty() ? cluster : p.order, p.order_weights);
    if (!chosen)
      return base::fail(chosen.error().code, fmt::format("partition {}: order: {}", p.name, chosen.error().what),
                        chosen.error().hint);
    out[p.name] = std::move(*chosen);
  }
  return out;
}

Orders::Orders(std::shared_ptr<const Order> cluster, const PoolOrders& pools)
    : cluster_(cluster != nullptr ? std::move(cluster) : *make_order("fifo_skip")), all_{cluster_, 0} {
  for (const auto& [partition, chosen] : pools)
    if (chosen.order != nullptr) pools_[partition] = Line{chosen.order, static_cast<uint32_t>(pools_.size()) + 1};
}

const Orders::Line& Orders::line(const std::string& partition) const {
  if (pools_.empty()) return all_;
  const auto it = pools_.find(partition);
  return it == pools_.end() ? all_ : it->second;
}

bool Orders::is_strict_for(const PendingJob& job) const {
  return std::any_of(job.partitions.begin(), job.partitions.end(),
                     [this](const std::string& name) { return in(name).is_strict(); });
}

bool Orders::need(bool Needs::*what) const {
  return cluster_->needs().*what ||
         std::any_of(pools_.begin(), pools_.end(), [&](const auto& p) { return p.second.order->needs().*what; });
}

bool Orders::are_preemptive() const {
  return cluster_->is_preemptive() ||
         std::any_of(pools_.begin(), pools_.end(), [](const auto& p) { return p.second.order->is_preemptive(); });
}

JobFacts waiting_facts(const PendingJob& job, Time now) {
  JobFacts facts{job, now};
  facts.since = job.eligible;
  facts.attained = job.attained;
  facts.remaining = told_remaining(job);
  facts.asked = facts.gpus = gpus_asked(job);
  return facts;
}

JobFacts running_facts(const PendingJob& job, Time since, double gpus, Time now) {
  JobFacts facts{job, now};
  facts.is_running = true;
  facts.since = since;
  facts.asked = gpus_asked(job);
  facts.gpus = gpus;
  const Duration counted = std::max(now - std::max(since, job.counted_at), Duration{});
  facts.attained = job.attained + base::microseconds(static_cast<int64_t>(static_cast<double>(counted.us) * gpus));
  facts.remaining = told_remaining(job);
  if (facts.remaining != base::kUnlimited) facts.remaining = std::max(facts.remaining - (now - since), Duration{});
  return facts;
}

}  // namespace gw::sched
