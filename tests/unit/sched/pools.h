// Two partitions of a node each, `left` and `right`, with orders of their own, and jobs in them.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cluster_builder.h"
#include "sched/cycle/plan.h"
#include "sched/queue/orders.h"

namespace gw::sched::testing {

inline Time at(int64_t minutes) { return Time{(1'000 + minutes) * 60'000'000}; }

inline PendingJob job_of(uint32_t id, uint32_t gpus, std::vector<std::string> partitions = {"main"}) {
  PendingJob j = pending(id, gang(1, gpus));
  j.partitions = std::move(partitions);
  j.submitted = j.eligible = at(0);
  return j;
}

inline PoolOrders pools(const std::map<std::string, std::string>& orders) {
  PoolOrders out;
  for (const auto& [partition, order] : orders) out[partition] = {order, {}, {}, *make_order(order)};
  return out;
}

class PoolsTest : public ::testing::Test {
 protected:
  Cluster c{2, machine(16, 8, 64'000)};

  void SetUp() override {
    for (const auto& [name, node] : {std::pair("left", "n1"), std::pair("right", "n2")}) {
      PartitionFacts p;
      p.name = name;
      p.nodes = {node};
      c.apply(PartitionSet{p});
    }
  }
  void policy(const std::map<std::string, std::string>& orders) {
    Policy p;
    p.pool_orders = pools(orders);
    p.quantum = base::minutes(10);
    c.apply(PolicySet{p});
  }
  void queue(const PendingJob& j) { c.apply(JobQueued{j}); }
  Plan run(Time now) {
    started.clear(), preempted.clear();
    Plan p = plan(c.view, now, {});
    for (const Group& g : p.groups)
      for (const Decision& d : g.decisions) {
        if (const auto* victim = std::get_if<Preempt>(&d)) preempted.push_back(victim->job.value);
        if (const auto* s = std::get_if<Start>(&d)) started.push_back(s->job.value);
      }
    return p;
  }
  /// It runs there since then, on so many GPUs from the first on.
  void runs(const PendingJob& j, const std::string& partition, uint32_t node, Time since, uint32_t first = 0,
            uint32_t count = 8) {
    model::NodeShare share;
    share.node = base::NodeId(node);
    for (uint32_t i = first; i < first + count; ++i) share.gpus.insert(i), share.cores.insert(i);
    share.tasks = share.cpus = count;
    c.apply(JobPlaced{j.id, partition, {{share}}, since, Time::never(), std::make_shared<const PendingJob>(j)});
  }
  using Ids = std::vector<uint32_t>;
  Ids started, preempted;
};

}  // namespace gw::sched::testing
