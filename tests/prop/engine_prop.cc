// Whole random worlds under the virtual clock: nodes of several sizes, a tree of quotas, partitions, reservations,
// elastic gangs, consolidation, preemption with and without grace, suspension, deadlines, passes with large and small
// budgets. Whatever comes, the scheduler comes to an end of each instant, the ledgers add up, and a plan made from
// scratch would change nothing any more. Drawn as text, and not shrunk: a world that fails is a file for `gangway
// simulate --scenario`, to be cut by hand.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>

#include "sched/cycle/snapshot.h"
#include "tests/prop/quota_world.h"
#include "tests/unit/sim/small.h"

namespace gw::prop {
namespace {

using sim::Phase;
using sim::Record;

template <size_t N>
std::string any_of(const std::array<const char*, N>& words) {
  return words.at(static_cast<size_t>(draw(0, N - 1)));
}

/// What has been drawn so far, as far as jobs name it.
struct Names {
  int64_t nodes = 0;
  int64_t qos = 0;
  int64_t partitions = 0;
  int64_t reservations = 0;
  std::string node() const { return fmt::format("n{}", draw(0, nodes - 1)); }
};

std::string policy_text() {
  std::string text =
      fmt::format("policy: {{grace: {}, consolidate: {}, preempt: {}", one_in(4) ? "1m" : "0s", one_in(2), one_in(2));
  if (one_in(3)) text += fmt::format(", reclaim: {}", any_of(std::array{"guaranteed", "fair_share", "none"}));
  if (one_in(3)) text += fmt::format(", order: {}", any_of(std::array{"fifo", "shortest", "srtf", "multifactor"}));
  if (one_in(3)) text += fmt::format(", reservations: {}", draw(0, 3));
  if (one_in(4)) text += fmt::format(", fit: {}", any_of(std::array{"worst", "spread"}));
  return text + "}\n";
}

std::string nodes_text(Names& names) {
  std::string text = "nodes:\n";
  const int64_t kinds = draw(1, 3);
  for (int64_t kind = 0; kind < kinds; ++kind) {
    const int64_t last = names.nodes + draw(0, 2);
    text += fmt::format("  - {{name: \"n[{}-{}]\", gpus: {}, cpus: {}, memory: {}G}}\n", names.nodes, last, draw(0, 8),
                        draw(2, 32), draw(8, 64));
    names.nodes = last + 1;
  }
  if (one_in(3) && names.nodes > 1) {
    const int64_t cut = draw(1, names.nodes - 1);
    text += fmt::format(
        "network:\n  - {{switch: s0, nodes: \"n[0-{}]\"}}\n  - {{switch: s1, nodes: \"n[{}-{}]\"}}\n"
        "  - {{switch: top, switches: \"s[0-1]\"}}\n",
        cut - 1, cut, names.nodes - 1);
  }
  return text;
}

std::string partitions_text(Names& names) {
  if (!one_in(3)) return {};
  names.partitions = draw(1, 2);
  std::string text = "partitions:\n";
  for (int64_t p = 0; p < names.partitions; ++p) {
    const int64_t first = p == 0 ? 0 : draw(0, names.nodes - 1);
    text += fmt::format("  - {{name: p{}, nodes: \"n[{}-{}]\"", p, first, names.nodes - 1);
    if (one_in(3)) text += fmt::format(", tier: {}", draw(1, 3));
    if (one_in(6)) text += ", exclusive: true";
    if (one_in(4)) text += fmt::format(", max_time: {}m", draw(10, 90));
    if (one_in(4)) text += fmt::format(", consolidate: {}", any_of(std::array{"dry_run", "off", "on"}));
    if (one_in(2)) text += ", share_suspended_gpus: true";
    text += "}\n";
  }
  return text;
}

std::string qos_text(Names& names) {
  names.qos = draw(0, 4);
  if (names.qos == 0) return {};
  std::string text = "qos:\n";
  for (int64_t q = 0; q < names.qos; ++q) {
    text += fmt::format("  - {{name: q{}", q);
    if (q > 0 && one_in(3)) text += fmt::format(", parent: q{}", draw(0, q - 1));
    if (!one_in(3)) text += fmt::format(", guaranteed: {{gpu: {}}}", draw(0, 12));
    if (one_in(4)) text += fmt::format(", limit: {{gpu: {}}}", draw(1, 16));
    if (one_in(4)) text += fmt::format(", weight: {}", draw(0, 3));
    if (one_in(4)) text += fmt::format(", priority: {}", draw(0, 1));
    if (one_in(5)) text += fmt::format(", min_runtime: {}m", draw(1, 10));
    if (one_in(5)) text += fmt::format(", grace: {}", one_in(2) ? "30s" : "0s");
    if (one_in(5)) text += ", preempt_children: true";
    if (one_in(6)) text += fmt::format(", max_jobs: {}", draw(1, 4));
    if (one_in(6)) text += fmt::format(", max_jobs_per_user: {}", draw(1, 2));
    if (one_in(6)) text += fmt::format(", limit_per_user: {{gpu: {}}}", draw(1, 8));
    if (one_in(6)) text += fmt::format(", max_wall: {}m", draw(10, 90));
    text += "}\n";
  }
  return text;
}

std::string reservations_text(Names& names) {
  if (!one_in(4)) return {};
  names.reservations = 1;
  std::string text = fmt::format("reservations: [{{name: r0, nodes: {}, start: {}m, duration: {}m", names.node(),
                                 draw(0, 40), draw(5, 40));
  if (one_in(3)) text += ", every: 2h";
  return text + (one_in(3) ? ", maintenance: true}]\n" : ", users: [u0]}]\n");
}

std::string asks_text(const Names& names) {
  const int64_t tasks = one_in(2) ? draw(1, 6) : 1;
  std::string text = fmt::format(", tasks: {}, gpus_per_task: {}, cpus_per_task: {}", tasks,
                                 one_in(8) ? draw(4, 8) : draw(0, 3), draw(0, 4));
  if (one_in(4)) text += fmt::format(", mem_per_task: {}G", draw(1, 16));
  if (one_in(8)) text += fmt::format(", tasks_per_node: {}", draw(1, 3));
  if (one_in(8)) text += fmt::format(", locality: \"{}\"", any_of(std::array{"node@5m", "leaf@10m,block@5m", "leaf"}));
  if (one_in(10)) text += fmt::format(", switches: \"1@{}m\"", draw(1, 20));
  if (one_in(10)) text += ", exclusive: true";
  if (one_in(10))
    text += fmt::format(", exclude: {}", names.node());
  else if (one_in(10) && tasks > 1)
    text += fmt::format(", nodelist: {}", names.node());
  if (one_in(12)) return text + ", hetjob: [{tasks: 1, gpus_per_task: 1}]";
  if (tasks > 1 && one_in(2)) text += fmt::format(", min_tasks: {}", draw(1, tasks - 1));
  return text;
}

std::string job_text(const Names& names, int64_t number) {
  std::string text = fmt::format("  - {{name: j{}, user: u{}", number, draw(0, 2));
  if (names.qos > 0 && !one_in(6)) text += fmt::format(", qos: q{}", draw(0, names.qos - 1));
  if (names.partitions > 0) text += fmt::format(", partition: p{}", draw(0, names.partitions - 1));
  if (names.reservations > 0 && one_in(4)) text += ", reservation: r0";
  if (one_in(2)) text += fmt::format(", submit: {}m", draw(0, 60));
  if (!one_in(3)) text += fmt::format(", run_time: {}m", draw(1, 60));
  if (one_in(2)) text += fmt::format(", time_limit: {}", draw(5, 90));
  if (one_in(8)) text += ", time_min: 3";
  if (one_in(8)) text += fmt::format(", deadline: {}m", draw(10, 120));
  if (one_in(3)) text += fmt::format(", priority: {}", draw(49, 51));
  if (one_in(6))
    text += ", preemptible: false";
  else if (one_in(3))
    text +=
        fmt::format(", on_preempt: {}", any_of(std::array{"suspend", "suspend", "checkpoint", "cancel", "requeue"}));
  return text + asks_text(names) + "}\n";
}

std::string draw_world() {
  Names names;
  std::string text = policy_text();
  // One after the other: each draws from what those before it have named.
  text += nodes_text(names);
  text += partitions_text(names);
  text += qos_text(names);
  text += reservations_text(names) + "jobs:\n";
  const int64_t count = draw(1, 14);
  for (int64_t i = 0; i < count; ++i) text += job_text(names, i);
  return text + "until: 6h\n";
}

/// The ledgers add up, and are the same when everything is counted anew.
base::Status audit(const sched::ClusterView& view, const sched::ClusterView& anew) {
  GW_TRY_STATUS(view.capacity().audit());
  const sched::Tally &kept = view.quota().tally(), &counted = anew.quota().tally();
  if (kept.held != counted.held || kept.counted != counted.counted)
    return base::invalid("the ledger of the quotas is not what is held");
  if (view.quota().waiting() != anew.quota().waiting()) return base::invalid("the demand is not what waits");
  return {};
}

/// At the end of an instant: what a view made from scratch would decide is nothing but words, whatever budget the
/// passes had.
base::Status watch(const sched::ClusterView& view, base::Time now) {
  const sched::PassInput input = sched::take_input(view, now, {});
  if (input.has_run_out || !input.put_off.empty() || !input.passed.empty())
    return base::invalid("at rest somebody is still to be looked at");
  GW_TRY(anew, sched::restore_view(input));
  GW_TRY_STATUS(audit(view, *anew));
  const sched::Plan plan = sched::plan(*anew, now, {});
  GW_TRY_STATUS(anew->capacity().audit());
  for (const sched::Group& group : plan.groups)
    if (!std::holds_alternative<sched::Wait>(group.decisions.front()))
      return base::invalid(fmt::format("at {} a plan from scratch still decides something, of kind {}",
                                       (now - sim::kStart).seconds(), group.decisions.front().index()));
  return {};
}

/// Of all components.
uint64_t gpus_of(const Record& record) {
  uint64_t gpus = record.allocation.total_gpus();
  for (const model::Allocation& part : record.components) gpus += part.total_gpus();
  return gpus;
}

RC_GTEST_PROP(Engine, RunsEveryWorldToItsEndWithLedgersThatAddUp, ()) {
  const std::string text = *rc::gen::noShrink(rc::gen::exec(draw_world));
  RC_LOG() << text;
  const auto scenarios = config::parse_scenarios(text, "world");
  if (!scenarios) RC_FAIL(scenarios.error().text());
  sim::Users users;
  const auto cluster = sim::build_cluster(scenarios->front().cluster, sim::testing::no_topologies(), users);
  if (!cluster) RC_FAIL(cluster.error().text());
  std::vector<sim::SimJob> jobs = sim::jobs_of(scenarios->front(), users);
  for (sim::SimJob& job : jobs)
    if (job.job.suspends != sched::Suspends::kNo && one_in(2)) job.job.suspends = sched::Suspends::kAfterGrace;
  sim::EngineOptions options;
  options.until = sim::kStart + base::hours(6);
  options.watch = watch;
  if (one_in(2)) options.budget = {static_cast<uint64_t>(draw(1, 40)), 1'000, static_cast<uint64_t>(draw(1, 6))};
  RC_LOG() << fmt::format("budget {} {}\n", options.budget.placements, options.budget.per_user);
  sim::Engine engine(*cluster, std::move(jobs), options);
  if (const auto ran = engine.run(); !ran) RC_FAIL(ran.error().text());
  uint64_t held = 0;
  for (const Record& record : engine.records())
    held += record.phase == Phase::kRunning ? gpus_of(record) : record.kept.total_gpus();
  RC_ASSERT(held * model::kWholeGpu == engine.samples().back().busy_gpu_milli);
}

}  // namespace
}  // namespace gw::prop
