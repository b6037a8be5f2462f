// A job that is within its guarantee never waits where the rules of the quotas let some set of running jobs go for it:
// clusters of thirteen kinds and mixtures of them, simulated, against every set and every place.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "tests/prop/starvation/full_cluster.h"
#include "tests/prop/starvation/places.h"
#include "tests/unit/sim/small.h"

namespace gw::prop {
namespace {

using sim::Phase;
using sim::ScenarioOutcome;

/// Where jobs share GPUs, which ones each got when the scenario began.
std::vector<std::vector<HeldGpu>> held_gpus(const FullCluster& cluster, const ScenarioOutcome& outcome) {
  std::vector<std::vector<HeldGpu>> out;
  for (const Running& job : cluster.running) {
    std::vector<HeldGpu>& held = out.emplace_back();
    const model::NodeShare& share = outcome.records[static_cast<size_t>(job.line)].first_allocation.shares.front();
    for (uint32_t g = share.gpus.next(0); std::ssize(held) < std::ssize(share.gpus); g = share.gpus.next(g + 1))
      held.push_back({job.at.front(), g, share.gpu_milli});
  }
  return out;
}

/// An elastic gang goes with all that extends it.
bool is_whole(const oracle::World& rules, const std::set<int>& gone) {
  return std::all_of(rules.jobs.begin(), rules.jobs.end(), [&](const oracle::Job& job) {
    return job.gang == 0 || !gone.contains(job.gang) || gone.contains(job.id);
  });
}

bool may_start_without(oracle::World rules, const std::set<int>& gone, int id) {
  for (oracle::Job& job : rules.jobs) job.running = job.running && !gone.contains(job.id);
  return oracle::may_start(rules, id);
}

/// Of those who are in the way the first set found that the rules let go and that leaves a place.
std::optional<std::vector<int>> permitted_set(const FullCluster& cluster, const Places& places) {
  const oracle::World& rules = cluster.rules;
  std::vector<int> candidates;
  for (const Running& job : cluster.running)
    if (places.is_in_way(job)) candidates.push_back(job.id);
  for (size_t bits = 0; bits < size_t{1} << candidates.size(); ++bits) {
    std::set<int> gone;
    for (size_t i = 0; i < candidates.size(); ++i)
      if ((bits >> i & 1) != 0) gone.insert(candidates[i]);
    const std::vector<int> list(gone.begin(), gone.end());
    if (is_whole(rules, gone) && places.has_room(gone) && may_start_without(rules, gone, cluster.waiting_id()) &&
        (list.empty() || oracle::may_take_all(rules, cluster.waiting_id(), list)))
      return list;
  }
  return std::nullopt;
}

/// Within its guarantee at every QOS above it, in all that it asks for.
bool is_guaranteed(const oracle::World& rules) {
  const oracle::Job& job = rules.jobs.back();
  return std::all_of(rules.qos.begin(), rules.qos.end(), [&](const oracle::Qos& q) {
    const bool is_above = q.name == "b" || q.name == "up";
    return !is_above || std::all_of(job.per_task.begin(), job.per_task.end(), [&](const auto& need) {
      int64_t held = 0;
      for (const oracle::Job& other : rules.jobs) {
        const auto it = other.per_task.find(need.first);
        const bool is_here = other.qos == q.name || (q.name == "up" && (other.qos == "a" || other.qos == "b"));
        if (other.running && is_here && it != other.per_task.end()) held += other.tasks * it->second;
      }
      return need.second == 0 || !oracle::has_line(rules, q.name, need.first) ||
             held + job.tasks * need.second <= oracle::guaranteed_of(rules, q.name, need.first);
    });
  });
}

void never_starves(const Traits& traits) {
  const FullCluster cluster = draw_full_cluster(traits);
  RC_LOG() << cluster.scenario;
  const auto outcome = sim::run_scenario(sim::testing::scenario_of(cluster.scenario), sim::testing::no_topologies());
  if (!outcome) RC_FAIL(outcome.error().text());
  const bool is_running = outcome->records.back().phase == Phase::kRunning;
  RC_CLASSIFY(is_running);
  if (is_running || !is_guaranteed(cluster.rules)) return;
  const Places places(cluster, traits.shares_gpus ? held_gpus(cluster, *outcome) : std::vector<std::vector<HeldGpu>>());
  const auto set = permitted_set(cluster, places);
  if (!set) return;
  RC_LOG() << "these may go:";
  for (const int id : *set) RC_LOG() << " " << id << " of r" << cluster.running[static_cast<size_t>(id - 1)].line;
  RC_LOG() << "; it waits: " << outcome->records.back().why << "\n";
  RC_ASSERT(!set.has_value());
}

RC_GTEST_PROP(Starvation, OfNobodyForOneNode, ()) { never_starves({}); }
RC_GTEST_PROP(Starvation, OfNoGang, ()) { never_starves({.has_gang = true}); }
RC_GTEST_PROP(Starvation, OfNobodyOnNodesOfSeveralSizes, ()) { never_starves({.has_sizes = true}); }
RC_GTEST_PROP(Starvation, OfNobodyBelowOneLeaf, ()) { never_starves({.has_leaves = true}); }
RC_GTEST_PROP(Starvation, OfNobodyBesideClosedNodes, ()) { never_starves({.has_closed_nodes = true}); }
RC_GTEST_PROP(Starvation, OfNobodyForCores, ()) { never_starves({.has_cores = true}); }
RC_GTEST_PROP(Starvation, OfNobodyForATypeOfGpu, ()) { never_starves({.has_types = true}); }
RC_GTEST_PROP(Starvation, OfNobodyOnSharedGpus, ()) { never_starves({.shares_gpus = true}); }
RC_GTEST_PROP(Starvation, OfNoHetjob, ()) { never_starves({.has_components = true}); }
RC_GTEST_PROP(Starvation, OfNobodyBesideElasticGangs, ()) { never_starves({.has_elastic = true}); }
RC_GTEST_PROP(Starvation, OfNobodyWithGrace, ()) { never_starves({.has_grace = true}); }
RC_GTEST_PROP(Starvation, OfNobodyInATree, ()) { never_starves({.has_tree = true}); }
RC_GTEST_PROP(Starvation, OfNobodyBesideGangsOnTwoNodes, ()) { never_starves({.has_spanning = true}); }
RC_GTEST_PROP(Starvation, OfNobodyInAMixtureOfThese, ()) { never_starves(draw_traits()); }

}  // namespace
}  // namespace gw::prop
