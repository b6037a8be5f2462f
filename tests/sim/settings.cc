// Configurations. See settings.h.
#include "tests/sim/settings.h"

#include <string>
#include <vector>

#include "sched/queue/orders.h"

namespace gw::sim_cluster {
namespace {

constexpr uint64_t kGpu = 1000;

std::vector<model::Qos> draw_quotas(Random& random, uint32_t nodes) {
  std::vector<model::Qos> tree(4);
  const uint64_t gpus = nodes * 4 * kGpu;
  tree[0].name = "normal";
  tree[1].name = "a";
  tree[1].guaranteed["gpu"] = gpus / 2;
  tree[1].max_jobs = 6 + random(20);
  tree[2].name = "a1";
  tree[2].parent = "a";
  tree[2].guaranteed["gpu"] = gpus / 4;
  tree[3].name = "b";
  tree[3].guaranteed["gpu"] = gpus / 4;
  tree[3].max_submit_per_user = 40;
  // Nothing is left of them after a while, and they come back at midnight.
  tree[1].budget = model::GpuBudget{uint64_t{nodes} * 600, base::Period::kDay, true};
  tree[3].budget = model::GpuBudget{uint64_t{nodes} * 300, base::Period::kDay, false};
  return tree;
}

/// Some partitions have an order of their own. Turns and leases are short, and so are the queues of attained service.
void draw_orders(Random random, ctld::Settings& s) {
  static const std::vector<std::string> kOrders = sched::order_names();
  s.policy.pool_orders.clear();
  s.policy.quantum = base::seconds(30);
  for (model::Partition& p : s.partitions) {
    p.order.clear();
    if (random.chance(50)) continue;
    p.order = random.chance(40) ? "time_slice" : random.any(kOrders);
    sched::Weights weights;
    if (p.order == "las2d" || p.order == "gittins") weights = {{"queue_1", 0.05}, {"queue_2", 0.5}, {"promote", 3}};
    if (p.order == "themis") weights = {{"lease_minutes", 1}, {"fairness", 0.2}};
    s.policy.pool_orders[p.name] = {p.order, weights, {}, *sched::make_order(p.order, weights)};
  }
}

}  // namespace

uint32_t draw_node_count(Random& random) {
  const uint32_t size = random(20);
  if (size < 11) return 1 + random(4);
  if (size < 18) return 3 + random(8);
  return 10 + random(41);
}

model::NodeTopology draw_topology(Random& random) {
  const uint32_t kind = random(8);
  if (kind < 5) return model::flat_topology(32, 64'000, 8, "h100");
  if (kind < 7) return model::flat_topology(16, 32'000, 4, "h100");
  return model::flat_topology(8, 16'000, 2, "h100");
}

ctld::Settings draw_settings(Random& random, uint32_t nodes) {
  ctld::Settings s;
  s.cluster = "test";
  s.admin_uids = s.node_uids = {0};
  s.has_fence = random.chance(50);
  model::Partition main;
  main.name = "main";
  main.is_default = main.unlimited = true;
  main.share_suspended_gpus = random.chance(50);
  main.allow_shared_gpus = true;
  for (uint32_t i = 0; i < nodes; ++i) {
    s.nodes.emplace_back().name = "n" + std::to_string(i);
    s.nodes.back().gres = model::parse_gres("disk:4,fpga:x:1,fpga:y:1").value();
    main.nodes.push_back(s.nodes.back().name);
  }
  model::Partition leased = main;
  leased.name = "leased";
  leased.is_default = leased.share_suspended_gpus = false;
  leased.lease = base::seconds(90);
  s.partitions = {main, leased};
  draw_orders(random.fork(), s);
  for (model::Partition& p : s.partitions) p.share_suspended_gpus |= p.order == "time_slice";
  s.policy.preempts = true;
  s.policy.grace = base::seconds(random.any({0, 5, 20}));
  s.qos = draw_quotas(random, nodes);
  s.policy.licenses = {{"soft", 3}};
  s.has_prolog = nodes % 3 == 1;
  s.has_epilog = nodes % 3 != 0;
  return s;
}

ctld::Settings change_settings(Random& random, ctld::Settings s) {
  s.policy.grace = base::seconds(random.any({0, 5, 20, 40}));
  s.kill_wait = base::seconds(random.any({10, 30}));
  s.policy.preempts = random.chance(70);
  s.consolidate = random.any({model::Consolidate::kOn, model::Consolidate::kOff, model::Consolidate::kDryRun});
  s.partitions.back().nodes = s.partitions.front().nodes;
  s.has_prolog = !s.has_prolog;
  s.has_epilog = !s.has_epilog;
  if (s.nodes.size() > 1 && random.chance(30)) s.partitions.back().nodes.pop_back();
  draw_orders(random.fork(), s);
  return s;
}

std::vector<std::string> lending_partitions(const ctld::Settings& settings) {
  std::vector<std::string> out;
  for (const model::Partition& partition : settings.partitions)
    if (partition.share_suspended_gpus) out.push_back(partition.name);
  return out;
}

}  // namespace gw::sim_cluster
