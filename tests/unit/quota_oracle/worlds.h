// Small worlds for the tests of the quota oracle, in whole GPUs.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tests/oracle/quota.h"

namespace gw::oracle {

inline constexpr int64_t kGpu = 1000;

inline Amounts gpus(int64_t count) { return {{"gpu", count * kGpu}}; }

// `nodes` of `count` GPUs each.
inline World cluster(int nodes, int64_t count) {
  World world;
  world.nodes.assign(nodes, gpus(count));
  world.now_s = 1000;
  return world;
}

inline Qos& add_qos(World& world, const std::string& name, const std::string& parent, Amounts guaranteed) {
  Qos qos;
  qos.name = name;
  qos.parent = parent;
  qos.guaranteed = std::move(guaranteed);
  return world.qos.emplace_back(qos);
}

// A waiting job of equal tasks; ids and submission times count from 1.
inline Job& add_job(World& world, const std::string& qos, Amounts per_task, int tasks = 1) {
  Job job;
  job.id = static_cast<int>(world.jobs.size()) + 1;
  job.submitted_s = job.id;
  job.qos = qos;
  job.tasks = tasks;
  job.per_task = std::move(per_task);
  return world.jobs.emplace_back(job);
}

// A job that has run since 0, a task on each of the nodes.
inline Job& add_running(World& world, const std::string& qos, Amounts per_task, std::vector<int> at) {
  Job& job = add_job(world, qos, std::move(per_task), static_cast<int>(at.size()));
  job.running = true;
  job.at = std::move(at);
  return job;
}

// The fair share of GPUs, which is a whole number of them.
inline int64_t gpu_share(const World& world, const std::string& side) {
  const int64_t share = fair_shares(world).at(side).at("gpu");
  return share % kGpu == 0 ? share / kGpu : -1;
}

}  // namespace gw::oracle
