// What people are told of running jobs against the rules: who could take a job, by brute force (tests/oracle); `quota
// explain` against the judgement of the victim search, and by brute force; and that an answer that is cut is no other.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "sched/view/labels.h"
#include "sched/view/quota_report.h"
#include "tests/prop/quota_twin.h"

namespace gw::prop {
namespace {

constexpr int kAsks = 10'000;  // the id of the job that asks; those of the others that wait with it follow

oracle::Job asking(const std::string& qos, const Amounts& amounts) {
  oracle::Job out;
  out.id = kAsks;
  out.qos = qos;
  out.per_task = amounts;
  out.submitted_s = 30;
  return out;
}

/// The QOS whose jobs run at a side that is a leaf.
std::string qos_at(const std::string& side) { return side.ends_with('/') ? side.substr(0, side.size() - 1) : side; }

std::vector<std::string> leaves_of(const World& world) {
  std::vector<std::string> out;
  for (const std::string& side : sides_of(world))
    if (children_of(world, side).empty()) out.push_back(side);
  return out;
}

/// The world has the job that asks.
bool may_take(const World& world, int victim) {
  if (!job_of(world, victim).preemptible || !oracle::may_take_all(world, kAsks, {victim})) return false;
  World without = world;
  job_of(without, victim).running = false;
  const std::vector<oracle::Bar> bars = oracle::bars_of(without, kAsks);
  return std::none_of(bars.begin(), bars.end(), [](const auto& b) { return b.kind == oracle::Bar::Kind::kLimit; });
}

bool is_protected(const World& world, const oracle::Job& job) {
  int64_t min_runtime = 0;
  for (const oracle::Qos* q = qos_of(world, job.qos); q != nullptr && min_runtime == 0; q = qos_of(world, q->parent))
    min_runtime = q->min_runtime_s;
  return world.now_s < job.started_s + min_runtime;
}

/// One GPU, or a little of what it has.
Amounts least_of(const oracle::Job& job) {
  Amounts out;
  const bool has_gpus = amount_of(job.per_task, "gpu") > 0;
  for (const auto& [resource, amount] : job.per_task)
    if (amount > 0 && resource.starts_with("gpu") == has_gpus) out[resource] = has_gpus ? 1000 : 1;
  return out;
}

RC_GTEST_PROP(Labels, WhoCouldTakeAJobIsWhatTheRulesSay, ()) {
  const World world = draw_world(14);
  RC_LOG() << show(world);
  Twin twin(world, {});
  const sched::QuotaTree& tree = twin.view().quota().tree();
  size_t preemptors = 0;
  for (const sched::JobLabel& label : sched::Labels(twin.view()).list({}, true, twin.now())) {
    const oracle::Job& job = job_of(world, static_cast<int>(label.job.value));
    RC_ASSERT(label.is_never_preempted == !job.preemptible);
    RC_ASSERT((label.protected_until != Time{}) == is_protected(world, job));
    std::set<std::string> expected;
    for (const std::string& side : leaves_of(world)) {
      if (is_within(world, job, side)) continue;
      World with = world;
      with.jobs.push_back(asking(qos_at(side), least_of(job)));
      if (!is_protected(world, job) && may_take(with, job.id)) expected.insert(side);
    }
    preemptors += expected.size();
    std::set<std::string> told;
    for (const uint32_t qos : label.preemptors.some) told.insert(tree.qos(qos).name);
    RC_LOG() << "job " << job.id << " could be taken by " << fmt::format("{}, not {}", expected, told) << "\n";
    RC_ASSERT(label.preemptors.is_cut == (expected.size() > sched::kMostPreemptors));
    RC_ASSERT(std::includes(expected.begin(), expected.end(), told.begin(), told.end()));
    RC_ASSERT(told.size() == std::min(expected.size(), sched::kMostPreemptors));
  }
  RC_CLASSIFY(preemptors > 0);
}

RC_GTEST_PROP(Labels, WhatIsCoveredIsWhatTheRulesSay, ()) {
  const World world = draw_world();
  RC_LOG() << show(world);
  Twin twin(world, {});
  const sched::QuotaTree& tree = twin.view().quota().tree();
  for (const sched::JobLabel& label : sched::Labels(twin.view()).list({}, true, twin.now())) {
    const auto first_without = [&](oracle::Reclaim mode) {
      uint32_t q = tree.leaf_of(job_of(world, static_cast<int>(label.job.value)).qos);
      while (q != 0 && oracle::covered(world, tree.qos(q).name, mode).contains(static_cast<int>(label.job.value)))
        q = tree.qos(q).parent;
      return q;  // at the root everybody fits whom the nodes hold
    };
    const auto shown = [](uint32_t at) { return at == sched::kNoQos ? 0 : at; };
    RC_ASSERT(shown(label.borrowed_at) == first_without(oracle::Reclaim::kGuaranteed));
    RC_ASSERT(label.has_fair == (world.reclaim == oracle::Reclaim::kFairShare));
    if (label.has_fair) RC_ASSERT(shown(label.beyond_fair_at) == first_without(oracle::Reclaim::kFairShare));
  }
}

/// What `quota explain` says, of a job at a leaf and a QOS beside it.
void check_explained(const World& world, Twin& twin, const std::string& own, const std::string& from) {
  const sched::ClusterView& view = twin.view();
  const sched::QuotaTree& tree = view.quota().tree();
  const uint32_t leaf = tree.leaf_of(qos_at(own)), taken = *tree.find(from);
  if (tree.common(leaf, taken) == taken || tree.common(leaf, taken) == leaf) return;
  const sched::TakeVerdict verdict = sched::explain_taking(view, qos_at(own), from, twin.now());
  RC_LOG() << fmt::format("{} from {}: {} {}\n", own, from, verdict.may ? "may" : "may not", verdict.gpu_milli);
  // It wants as much as they hold.
  const uint64_t held = view.quota().tally().counted[taken][0], waits = view.quota().waiting()[leaf][0];
  const uint64_t wanted = (held - std::min(held, waits) + 999) / 1000;
  World with = world;
  for (uint64_t i = 0; i < wanted; ++i) {
    with.jobs.push_back(asking(qos_at(own), {{"gpu", 1000}}));
    with.jobs.back().id += static_cast<int>(i);
  }
  sched::Quantities wish = tree.none(), one = tree.none();
  wish[0] = wanted * 1000;
  one[0] = 1000;
  sched::Labels labels(view, leaf, wish);
  const sched::Preemptor preemptor{leaf, one, 0, view.policy().reclaim, false};
  sched::Permission permission(labels.quotas(), preemptor, labels.covers());
  uint64_t most = 0;
  for (const sched::Victim& v : labels.victims(taken, twin.now())) {
    sched::Quotas after = labels.quotas();
    after.stop(v.candidate.leaf, v.all, true);
    const bool may =
        v.all[0] > 0 && permission.allows(after, {&v.candidate}, v.parts) && !after.limit_in_way(leaf, one, UINT32_MAX);
    if (may) most = 1000;
    if (wanted > 0 && v.all[0] > 0) RC_ASSERT(may == may_take(with, static_cast<int>(v.candidate.job.value)));
  }
  RC_ASSERT(verdict.may == (most > 0));
  RC_ASSERT(verdict.gpu_milli >= most);
  RC_ASSERT(verdict.gpu_milli <= held);
}

RC_GTEST_PROP(Labels, ExplainAgreesWithTheSearchOfEachJobAlone, ()) {
  const World world = draw_world(14);
  RC_LOG() << show(world);
  Twin twin(world, {});
  for (const std::string& own : leaves_of(world))
    for (const oracle::Qos& from : world.qos) check_explained(world, twin, own, from.name);
}

RC_GTEST_PROP(Labels, AnAnswerThatIsCutIsNoOther, ()) {
  const World world = draw_world();
  RC_LOG() << show(world);
  Twin twin(world, {});
  sched::Labels labels(twin.view());
  const std::vector<sched::Victim> victims = labels.victims(0, twin.now());
  const auto all = sched::Preemptors(twin.view(), labels.covers()).of(victims);
  const auto cut = sched::Preemptors(twin.view(), labels.covers(), static_cast<size_t>(draw(0, 5'000))).of(victims);
  bool is_cut = false;
  for (size_t i = 0; i < victims.size(); ++i) {
    is_cut |= cut[i].is_cut && !all[i].is_cut;
    RC_ASSERT(std::includes(all[i].some.begin(), all[i].some.end(), cut[i].some.begin(), cut[i].some.end()) ||
              all[i].is_cut);
    if (!cut[i].is_cut) RC_ASSERT(cut[i].some == all[i].some && !all[i].is_cut);
  }
  RC_CLASSIFY(is_cut);
}

}  // namespace
}  // namespace gw::prop
