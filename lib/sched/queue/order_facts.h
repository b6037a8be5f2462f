// What an order looks at beside the job, gathered from the ledger: one way for the scheduler, which ranks by it, and
// for the controller, which shows it (gprio).
#pragma once

#include <map>
#include <string>

#include "sched/ledger/capacity.h"
#include "sched/queue/order.h"

namespace gw::sched {

/// Holds what its context refers to; `usage` must outlive it.
class OrderFacts {
 public:
  OrderFacts(Time now, const Capacity& capacity, const std::map<uint32_t, double>& usage) {
    for (const auto& [name, p] : capacity.partitions()) partition_priority_[name] = p.tier;
    context_.now = now;
    context_.size = capacity.size();
    context_.usage = &usage;
    for (const auto& [uid, used] : usage) context_.total_usage += used;
    context_.partition_priority = &partition_priority_;
  }
  OrderFacts(const OrderFacts&) = delete;
  OrderFacts& operator=(const OrderFacts&) = delete;
  const OrderContext& context() const { return context_; }

 private:
  std::map<std::string, double> partition_priority_;
  OrderContext context_;
};

/// The tier of the best of a job's partitions, which comes before everything else.
int32_t best_tier(const Capacity& capacity, const PendingJob& job);

}  // namespace gw::sched
