// See orders.h.
#include "sched/queue/orders.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace gw::sched {
namespace {

/// As usage counts it (usage_rate()): whole GPUs, or threads by the thirty-two.
double gpus_asked(const model::Request& r) {
  const uint32_t milli = r.gpu_milli;
  if (r.gpu_counting != model::GpuCounting::kNone && r.gpus > 0)
    return static_cast<double>(model::total_gpus(r, r.min_nodes)) * milli / model::kWholeGpu;
  return static_cast<double>(r.tasks) * r.cpus_per_task / 32;
}

/// With all its components.
double gpus_asked(const PendingJob& job) {
  double sum = gpus_asked(job.request);
  for (const Component& c : job.components) sum += gpus_asked(c.request);
  return sum;
}

bool has_overrun(const PendingJob& job, Time now) { return job.overruns && now >= job.overruns; }

Duration told_remaining(const PendingJob& job, Time now) {
  if (has_overrun(job, now)) return base::kUnlimited;
  return job.remaining != base::kUnlimited ? job.remaining : job.time_limit;
}

void add_needs(Needs& to, const Needs& needs) {
  to.users |= needs.users;
  to.durations |= needs.durations;
  to.holdings |= needs.holdings;
  to.services |= needs.services;
  to.parts |= needs.parts;
  to.survey |= needs.survey;
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

base::Result<ChosenOrder> choose_qos_order(const std::string& qos, const std::string& order, const Weights& weights,
                                           const ChooseOrder& choose) {
  auto chosen = choose(order, weights);
  if (!chosen)
    return base::fail(chosen.error().code, fmt::format("QOS {}: order: {}", qos, chosen.error().what),
                      chosen.error().hint);
  if (chosen->order != nullptr && chosen->order->suspends())
    return base::invalid(
        fmt::format("QOS {}: order: jobs take turns under {}, and those of other QOS beside them do not", qos, order),
        "give it to a partition: partitions[].time_slice");
  return chosen;
}

Orders::Orders(std::shared_ptr<const Order> cluster, const PoolOrders& pools, const Weights& weights, Services services,
               const PoolOrders& qos)
    : all_{cluster != nullptr ? std::move(cluster) : *make_order("fifo_skip"), 0}, services_(std::move(services)) {
  add_needs(needs_, all_.order->needs());
  are_preemptive_ = all_.order->is_preemptive();
  std::map<std::pair<std::string_view, Weights>, uint32_t> numbers = {{{all_.order->name(), weights}, 0}};
  const auto take = [&](const PoolOrders& from, std::map<std::string, Line>& to) {
    for (const auto& [name, chosen] : from) {
      if (chosen.order == nullptr) continue;
      add_needs(needs_, chosen.order->needs());
      if (&from == &qos) add_needs(of_qos_, chosen.order->needs());
      are_preemptive_ |= chosen.order->is_preemptive();
      const std::pair<std::string_view, Weights> key(chosen.order->name(), chosen.weights);
      const uint32_t number = numbers.try_emplace(key, static_cast<uint32_t>(numbers.size())).first->second;
      has_several_ |= number != 0;
      to[name] = Line{chosen.order, number};
    }
  };
  take(pools, pools_);
  take(qos, qos_);
}

Needs Orders::needs_in(const std::string& partition) const {
  Needs out = of_qos_;
  add_needs(out, pool(partition).order->needs());
  return out;
}

const Orders::Line& Orders::pool(const std::string& partition) const {
  if (pools_.empty()) return all_;
  const auto it = pools_.find(partition);
  return it == pools_.end() ? all_ : it->second;
}

const Orders::Line& Orders::line(const std::string& partition, const std::string& qos) const {
  const Line& there = pool(partition);
  if (qos_.empty() || there.order->suspends()) return there;
  const auto own = qos_.find(qos);
  return own == qos_.end() ? there : own->second;
}

bool Orders::is_strict_for(const PendingJob& job) const {
  return std::any_of(job.partitions.begin(), job.partitions.end(),
                     [&](const std::string& name) { return in(name, job.qos).is_strict(); });
}

JobFacts waiting_facts(const PendingJob& job, Time now, const Services* services) {
  JobFacts facts{job, now};
  facts.services = services;
  facts.since = std::max(job.eligible, job.counted_at);
  facts.attained = job.attained;
  facts.remaining = told_remaining(job, now);
  facts.asked = facts.gpus = gpus_asked(job);
  return facts;
}

Time overrun_of(Time since, Duration told) { return since + told + Duration{told.us / 4} + base::minutes(5); }

Time change_of(const Order& order, const JobFacts& facts) {
  const bool may_overrun = order.needs().durations && facts.job.overruns > facts.now;
  return std::min(order.next_change(facts), may_overrun ? facts.job.overruns : Time::never());
}

JobFacts running_facts(const PendingJob& job, Time since, double gpus, Time now, const Services* services) {
  JobFacts facts{job, now};
  facts.services = services;
  facts.is_running = true;
  facts.since = since;
  facts.asked = gpus_asked(job);
  facts.gpus = gpus;
  const Duration counted = std::max(now - (job.counted_at ? job.counted_at : since), Duration{});
  facts.attained = job.attained + base::microseconds(static_cast<int64_t>(static_cast<double>(counted.us) * gpus));
  facts.remaining = told_remaining(job, now);
  if (facts.remaining != base::kUnlimited) facts.remaining = std::max(facts.remaining - (now - since), Duration{});
  return facts;
}

}  // namespace gw::sched
