// The scheduler's quotas against the brute-force oracle of their rules (tests/oracle): fair shares; every decision of
// every plan until nothing moves; that it comes to rest at all, with and without grace; and that what is lent is
// borrowed.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <functional>

#include "sched/cycle/snapshot.h"
#include "tests/prop/quota_twin.h"

namespace gw::prop {
namespace {

using oracle::Shares;

// ---- Rule 2

int64_t draw_amount(int64_t most, const std::string& resource, bool is_odd) {
  return is_odd ? draw(0, most) : draw(0, most / unit_of(resource)) * unit_of(resource);
}

/// A tree and what is asked for in it, of any size; where it would run is no matter.
World draw_demands() {
  World world;
  Wild wild;
  wild.is_typed = one_in(3);
  wild.is_overcommitted = one_in(3);
  const bool is_odd = one_in(3);
  Amounts node = {{"gpu", draw_amount(100'000, "gpu", is_odd)}, {"cpu", draw(0, 200)}, {"mem", draw(0, 1'000'000)}};
  if (wild.is_typed) node["gpu:a"] = draw_amount(node["gpu"], "gpu", is_odd);
  world.nodes = {node};
  draw_tree(world, wild);
  const int64_t count = draw_scaled(0, 25);
  for (int id = 1; id <= count; ++id) {
    oracle::Job job;
    job.id = id;
    const int64_t qos = draw(0, std::ssize(world.qos));
    job.qos = qos == 0 ? "" : world.qos[static_cast<size_t>(qos - 1)].name;
    for (const auto& [resource, amount] : node) job.per_task[resource] = draw_amount(amount, resource, is_odd);
    job.running = one_in(3);
    if (job.running) job.at = {0};
    world.jobs.push_back(job);
  }
  return world;
}

sched::Quantities quantities(const sched::QuotaTree& tree, const oracle::Job& job) {
  sched::Quantities out;
  for (const std::string& r : tree.resources())
    out.push_back(static_cast<uint64_t>(job.tasks * amount_of(job.per_task, r)));
  return out;
}

void check_shares(const World& world, const sched::QuotaTree& tree, const sched::Shares& shares) {
  const Shares expected = oracle::fair_shares(world);
  for (uint32_t s = 1; s < tree.nodes().size(); ++s) {
    const std::string& name = tree.qos(s).name;
    for (size_t r = 0; r < tree.width(); ++r) {
      const std::string& resource = tree.resources()[r];
      const bool has_line = oracle::has_line(world, name, resource);
      RC_ASSERT(tree.qos(s).has_line[r] == has_line);
      RC_ASSERT(static_cast<int64_t>(shares.guaranteed[s][r]) == oracle::guaranteed_of(world, name, resource));
      if (has_line) RC_ASSERT(static_cast<int64_t>(shares.fair[s][r]) == expected.at(name).at(resource));
    }
  }
}

RC_GTEST_PROP(Quota, FairSharesEqualBruteForce, ()) {
  const World world = draw_demands();
  RC_LOG() << show(world);
  const sched::QuotaTree tree(Twin::tree_of(world));
  sched::Quantities capacity;
  for (const std::string& r : tree.resources()) capacity.push_back(static_cast<uint64_t>(capacity_of(world, r)));
  std::vector<sched::Quantities> demand(tree.nodes().size(), tree.none());
  for (const oracle::Job& job : world.jobs)
    if (job.running || is_within_limits(world, job))
      sched::add_to(demand[tree.leaf_of(job.qos)], quantities(tree, job));
  check_shares(world, tree, sched::divide(tree, capacity, demand));
}

// ---- Every decision

/// Equal in all that decides whether they can start: the scheduler asks one of them for all.
bool is_alike(const oracle::Job& a, const oracle::Job& b) {
  return a.qos == b.qos && a.tasks == b.tasks && a.per_task == b.per_task && a.preemptible == b.preemptible;
}

bool can_start(World world, const std::vector<int>& gone, int id) {
  for (const int other : gone) job_of(world, other).running = false;
  return oracle::fits(world, id) && oracle::may_start(world, id);
}

/// Allowed together; with any one of them left out it does not work; and no other set is better.
void check_victims(const World& world, const Step& step, const std::vector<int>& cheapest) {
  RC_ASSERT(can_start(world, step.taken, step.starts));
  RC_ASSERT(oracle::may_take_all(world, step.starts, step.taken));
  if (!oracle::is_as_cheap(world, step.starts, step.taken, cheapest))
    RC_LOG() << "cheaper: " << show(Step{cheapest, step.starts}) << "\n";
  RC_ASSERT(oracle::is_as_cheap(world, step.starts, step.taken, cheapest));
}

/// Within its guarantee at every side with the job, in all that it asks for.
bool is_guaranteed(const World& world, int id) {
  const oracle::Job& job = job_of(world, id);
  const std::vector<std::string> sides = sides_of(world);
  return std::all_of(sides.begin(), sides.end(), [&](const std::string& side) {
    if (side.empty() || !is_within(world, job, side)) return true;
    const std::vector<std::string> resources = resources_of(world);
    return std::all_of(resources.begin(), resources.end(), [&](const std::string& r) {
      return amount_of(job.per_task, r) == 0 || !oracle::has_line(world, side, r) ||
             held(world, side, r) + job.tasks * amount_of(job.per_task, r) <= oracle::guaranteed_of(world, side, r);
    });
  });
}

/// With moves: only for a job within its guarantee, at most eight, of nobody of its own QOS; and with those who are
/// moved still running, the rules let the others go.
void check_moves(const World& world, const Step& step) {
  RC_ASSERT(is_guaranteed(world, step.starts));
  RC_ASSERT(step.moved.size() <= 8);
  for (const int id : step.moved) {
    RC_ASSERT(job_of(world, id).running && job_of(world, id).preemptible);
    RC_ASSERT(job_of(world, id).qos != job_of(world, step.starts).qos);
  }
  RC_ASSERT(oracle::may_take_all(world, step.starts, step.taken));
  RC_ASSERT(oracle::may_start(world, step.starts));
}

/// The rules, step by step, where the scheduler puts each job where it likes. What started or was taken in this plan is
/// out of it until the next.
void check_steps(World world, const World& after, const std::vector<Step>& steps) {
  std::set<int> blocked, started;
  size_t at = 0;
  for (auto id = oracle::next_job(world, blocked); id; id = oracle::next_job(world, blocked)) {
    const auto cheapest = oracle::victims(world, *id, started);
    const bool has_moves = at < steps.size() && steps[at].starts == *id && !steps[at].moved.empty();
    RC_ASSERT(!(cheapest && has_moves));
    if (has_moves) {
      check_moves(world, steps[at]);
    } else if (!cheapest) {
      for (const oracle::Job& job : world.jobs)
        if (!job.running && is_alike(job, job_of(world, *id))) blocked.insert(job.id);
      continue;
    }
    const bool is_next = at < steps.size() && steps[at].starts == *id;
    if (!is_next && cheapest) RC_LOG() << "expected: " << show(Step{*cheapest, *id}) << "\n";
    RC_ASSERT(is_next);
    const std::vector<int>& taken = steps[at].taken;
    if (!has_moves) RC_ASSERT(taken.empty() == cheapest->empty());
    if (!has_moves && !taken.empty()) check_victims(world, steps[at], *cheapest);
    for (const int id_moved : steps[at].moved) {
      job_of(world, id_moved) = job_of(after, id_moved);
      started.insert(id_moved);
    }
    for (const int victim : taken) {
      job_of(world, victim).running = false;
      blocked.insert(victim);
    }
    job_of(world, *id) = job_of(after, *id);
    started.insert(*id);
    ++at;
  }
  RC_ASSERT(at == steps.size());
}

/// Nothing is started beyond a limit, and what can never be preempted only within guarantees.
void check_state(const World& before, const World& after) {
  for (const oracle::Qos& q : after.qos)
    for (const auto& [resource, limit] : q.limit)
      RC_ASSERT(held(after, q.name, resource) <= std::max(limit, held(before, q.name, resource)));
  for (const oracle::Job& job : after.jobs) {
    if (job.preemptible || !job.running || job_of(before, job.id).running) continue;
    for (const std::string& side : sides_of(after)) {
      const oracle::Qos* q = qos_of(after, job.qos);
      const bool outranks = side.ends_with('/') && q != nullptr && q->preempt_children;
      if (side.empty() || outranks || !is_within(after, job, side)) continue;
      for (const std::string& resource : resources_of(after))
        if (amount_of(job.per_task, resource) > 0 && oracle::has_line(after, side, resource))
          RC_ASSERT(held(after, side, resource, true) <= oracle::guaranteed_of(after, side, resource));
    }
  }
}

/// Among the children of each side: what some hold beyond their shares is what others leave of theirs, as far as it is
/// not idle, and what nobody claims. And the shares use up what there is, as far as anybody wants it.
void check_lending(const World& world, const sched::Quotas& quotas) {
  const sched::QuotaTree& tree = quotas.tree();
  for (uint32_t s = 0; s < tree.nodes().size(); ++s) {
    if (tree.qos(s).children.empty()) continue;
    const auto amount = [](const std::vector<sched::Quantities>& table, uint32_t side) {
      return static_cast<int64_t>(table[side][0]);
    };
    const int64_t due = amount(quotas.shares().fair, s), has = amount(quotas.tally().held, s);
    int64_t borrowed = 0, lent = 0, shares = 0, wanted = 0, at_least = 0;
    bool all_claim = true;
    for (uint32_t c : tree.qos(s).children) {
      const int64_t fair = amount(quotas.shares().fair, c), holds = held(world, tree.qos(c).name, "gpu");
      borrowed += std::max<int64_t>(0, holds - fair);
      lent += std::max<int64_t>(0, fair - holds);
      shares += fair;
      wanted += amount(quotas.shares().demand, c);
      at_least += std::min(amount(quotas.shares().guaranteed, c), amount(quotas.shares().demand, c));
      all_claim &= tree.qos(c).weight > 0;
    }
    const int64_t idle = due - has, unclaimed_cores = due - shares;
    RC_ASSERT(borrowed + idle == lent + unclaimed_cores);
    RC_ASSERT(shares <= std::max(due, at_least));
    RC_ASSERT(shares <= wanted);
    if (all_claim) RC_ASSERT(shares == std::min(std::max(due, at_least), wanted));
  }
}

// ---- Rest

int64_t seconds_until(Time now, Time when) { return (when.us - now.us + 999'999) / 1'000'000; }

void carry_out(Twin& twin, const sched::Plan& plan) {
  for (const sched::Group& group : plan.groups)
    for (const sched::Decision& d : group.decisions) {
      if (const auto* p = std::get_if<sched::Preempt>(&d)) twin.take_off(static_cast<int>(p->job.value));
      if (const auto* s = std::get_if<sched::Start>(&d)) twin.start(*s);
    }
}

using Check = std::function<void(const World& before, const World& after, const std::vector<Step>&)>;

/// Plans until nothing is decided any more, `pace` seconds apart, but no more than `most` times. Is it at rest?
bool settle(Twin& twin, int64_t pace, size_t most, const Check& check = nullptr) {
  for (size_t pass = 0; pass < most;) {
    const World before = twin.world();
    const sched::Plan plan = twin.plan();
    RC_ASSERT(!plan.exhausted);
    const std::vector<Step> steps = steps_of(plan);
    if (pass < 8)
      for (const Step& step : steps) RC_LOG() << pass << ": " << show(step) << "\n";
    carry_out(twin, plan);
    RC_ASSERT(twin.view().capacity().audit().has_value());
    if (check) check(before, twin.world(), steps);
    if (!steps.empty()) {
      ++pass;
      twin.let_pass(pace);
    } else if (plan.next_change_at == Time::never()) {
      return true;
    } else {
      twin.let_pass(seconds_until(twin.now(), plan.next_change_at));
    }
  }
  return false;
}

size_t most_passes(const World& world) { return 4 * world.jobs.size() + 50; }

/// Some have used much, some nothing; often it does not count.
void draw_past(const World& world, Twin::Options& options) {
  constexpr double kStrengths[] = {0, 0.5, 1, 4, 1000};
  options.fairness_over_time = kStrengths[draw(0, 4)];
  options.use[""] = static_cast<double>(draw(0, 3));
  for (const oracle::Qos& q : world.qos)
    options.use[q.name] = static_cast<double>(one_in(3) ? draw(0, 1000) : draw(0, 3));
  RC_LOG() << "past use counts " << options.fairness_over_time << ":";
  for (const auto& [name, used] : options.use) RC_LOG() << " " << name << " " << used;
  RC_LOG() << "\n";
}

int64_t draw_pace() {
  constexpr int64_t kPaces[] = {0, 60, 3600};
  return kPaces[draw(0, 2)];
}

RC_GTEST_PROP(Quota, EveryPlanDecidesWhatTheRulesSay, ()) {
  const World world = draw_world(10);
  Twin::Options options;
  options.tree_comes_last = one_in(3);
  const int64_t pace = draw_pace();
  RC_LOG() << show(world);
  Twin twin(world, options);
  bool is_anybody_taken = false;
  (void)settle(twin, pace, 10, [&](const World& before, const World& after, const std::vector<Step>& steps) {
    check_steps(before, after, steps);
    check_state(before, after);
    const sched::Quotas quotas(twin.view().quota());
    check_shares(after, quotas.tree(), quotas.shares());
    check_lending(after, quotas);
    for (const Step& step : steps) is_anybody_taken |= !step.taken.empty();
  });
  RC_CLASSIFY(is_anybody_taken);
}

RC_GTEST_PROP(Quota, ComesToRest, ()) {
  const World world = draw_world();
  const int64_t pace = draw_pace();
  RC_LOG() << show(world);
  Twin::Options options;
  draw_past(world, options);
  Twin twin(world, options);
  RC_ASSERT(settle(twin, pace, most_passes(world),
                   [](const World& before, const World& after, const auto&) { check_state(before, after); }));
}

// What a job gets may be more than it asks for: whole cores, GPUs of a type that it did not name.
RC_GTEST_PROP(Quota, ComesToRestWhereJobsGetMoreThanTheyAskFor, ()) {
  const World world = draw_world();
  Twin::Options options;
  options.threads = 2;
  options.all_name_type = one_in(2);
  const int64_t pace = draw_pace();
  RC_LOG() << show(world) << (options.all_name_type ? "" : "odd jobs name no type\n");
  draw_past(world, options);
  Twin twin(world, options);
  RC_ASSERT(settle(twin, pace, most_passes(world)));
}

// What is remembered from pass to pass is never of shares, which change when use is told.
RC_GTEST_PROP(Quota, StepByStepEqualsFromScratchAsUseIsTold, ()) {
  const World world = draw_world();
  RC_LOG() << show(world);
  Twin::Options options;
  draw_past(world, options);
  options.fairness_over_time = 1;
  Twin twin(world, options);
  for (int pass = 0; pass < 8; ++pass) {
    if (one_in(2)) {
      for (auto& [name, used] : options.use) used = static_cast<double>(draw(0, 100));
      twin.tell_use(options.use);
    }
    auto scratch = sched::restore_view(sched::take_input(twin.view(), twin.now(), {}));
    RC_ASSERT(scratch.has_value());
    const sched::Plan plan = twin.plan(), anew = sched::plan(**scratch, twin.now(), {});
    RC_ASSERT(steps_of(plan) == steps_of(anew));
    carry_out(twin, plan);
    twin.let_pass(draw_pace());
  }
}

// ---- What is lent comes back

/// Jobs of one GPU each, which can all be preempted at once: whoever wants its share gets it, to the GPU.
World draw_small_jobs() {
  World world;
  world.nodes.assign(static_cast<size_t>(draw(1, 3)), {{"gpu", 4000}, {"cpu", 32}, {"mem", 32'000}});
  world.reclaim = oracle::Reclaim::kFairShare;
  world.preempt = one_in(2);
  world.now_s = 1000;
  draw_tree(world, {});
  for (oracle::Qos& q : world.qos) {
    q.preempt_children = false;
    q.min_runtime_s = 0;
    if (q.limit.contains("gpu")) q.limit["gpu"] = std::max(q.limit["gpu"], amount_of(q.guaranteed, "gpu"));
  }
  const int64_t count = draw_scaled(1, 30);
  for (int id = 1; id <= count; ++id) {
    oracle::Job job;
    job.id = id;
    const int64_t qos = draw(0, std::ssize(world.qos));
    job.qos = qos == 0 ? "" : world.qos[static_cast<size_t>(qos - 1)].name;
    job.per_task = {{"gpu", 1000}, {"cpu", 1}};
    job.priority = draw(0, 1);
    job.submitted_s = draw(0, 20);
    job.started_s = draw(0, 1000);
    world.jobs.push_back(job);
    if (draw(0, 2) > 0 && oracle::may_start(world, id)) put_somewhere(world, id);
  }
  return world;
}

RC_GTEST_PROP(Quota, WhoeverWantsItsShareHasItAtRest, ()) {
  const World world = draw_small_jobs();
  RC_LOG() << show(world);
  Twin::Options options;
  draw_past(world, options);
  Twin twin(world, options);
  RC_ASSERT(settle(twin, draw_pace(), most_passes(world)));
  const sched::Quotas quotas(twin.view().quota());
  const sched::QuotaTree& tree = quotas.tree();
  bool all_claim = true;
  for (uint32_t s = 1; s < tree.nodes().size(); ++s) all_claim &= tree.qos(s).weight > 0;
  for (uint32_t s = 1; s < tree.nodes().size(); ++s) {
    const auto has = static_cast<uint64_t>(held(twin.world(), tree.qos(s).name, "gpu"));
    RC_LOG() << tree.qos(s).name << " has " << has << " of " << quotas.shares().fair[s][0] << "\n";
    RC_ASSERT(has >= quotas.shares().fair[s][0]);
    if (all_claim) RC_ASSERT(has == quotas.shares().fair[s][0]);
  }
  const uint64_t wanted = quotas.shares().demand[0][0];
  RC_ASSERT(quotas.tally().held[0][0] == std::min(wanted, quotas.shares().fair[0][0]));
}

// ---- Grace

/// Plans while those who were told to go leave, each share in its own time within the grace.
class Departures {
 public:
  Departures(Twin& twin, int64_t grace) : twin_(twin), grace_(grace) {}

  /// Until nothing moves any more; `most` plans that decide something. Is it at rest?
  bool settle(int64_t pace, size_t most) {
    for (size_t pass = 0; pass < most;) {
      let_go();
      const World before = twin_.world();
      const sched::Plan plan = twin_.plan();
      const std::vector<Step> steps = steps_of(plan);
      if (pass < 8)
        for (const Step& step : steps) RC_LOG() << twin_.world().now_s << ": " << show(step) << "\n";
      for (const sched::Group& group : plan.groups) carry_out(group);
      RC_ASSERT(twin_.view().capacity().audit().has_value());
      check_state(before, twin_.world());
      for (const auto& [job, nomination] : nominations_)
        RC_ASSERT(!nomination.waits_for.empty());  // else it should have started
      int64_t next = leaving_.empty() ? INT64_MAX : leaving_.begin()->first - twin_.world().now_s;
      if (!steps.empty()) {
        ++pass;
        next = std::min(next, pace);
      } else if (plan.next_change_at != Time::never()) {
        next = std::min(next, seconds_until(twin_.now(), plan.next_change_at));
      } else if (leaving_.empty()) {
        return true;
      }
      twin_.let_pass(next);
    }
    return false;
  }

 private:
  struct Kept {
    sched::Nomination nomination;
    std::set<int> waits_for;
  };
  Twin& twin_;
  const int64_t grace_;
  std::multimap<int64_t, std::pair<int, NodeId>> leaving_;  // by second
  std::map<int, Kept> nominations_;

  void let_go() {
    while (!leaving_.empty() && leaving_.begin()->first <= twin_.world().now_s) {
      const auto [id, node] = leaving_.begin()->second;
      leaving_.erase(leaving_.begin());
      twin_.release(id, node);
      if (twin_.view().capacity().holdings().contains(JobId(static_cast<uint32_t>(id)))) continue;
      twin_.queue(id);
      for (auto& [job, kept] : nominations_) kept.waits_for.erase(id);
    }
  }

  void carry_out(const sched::Group& group) {
    std::set<int> victims;
    for (const sched::Decision& d : group.decisions) {
      if (const auto* p = std::get_if<sched::Preempt>(&d)) send_off(*p, victims);
      if (const auto* n = std::get_if<sched::Nomination>(&d)) {
        twin_.nominate(*n);
        RC_ASSERT(nominations_.try_emplace(static_cast<int>(n->job.value), Kept{*n, waits_for(*n, victims)}).second);
      }
      if (const auto* s = std::get_if<sched::Start>(&d)) start(*s);
    }
  }

  /// Its own victims, and whoever leaves the same nodes for another.
  std::set<int> waits_for(const sched::Nomination& nomination, std::set<int> victims) const {
    for (const auto& [when, who] : leaving_)
      for (const model::NodeShare& share : nomination.allocation.shares)
        if (share.node == who.second) victims.insert(who.first);
    return victims;
  }

  void send_off(const sched::Preempt& preempt, std::set<int>& victims) {
    const auto id = static_cast<int>(preempt.job.value);
    RC_ASSERT(job_of(twin_.world(), id).running);
    for (const auto& [when, who] : leaving_) RC_ASSERT(who.first != id);
    victims.insert(id);
    twin_.send_off(id, twin_.now() + preempt.grace);
    for (NodeId node : twin_.nodes_of(id)) leaving_.emplace(twin_.world().now_s + draw(0, grace_), std::pair(id, node));
  }

  /// In the place that is kept for it, or sooner elsewhere.
  void start(const sched::Start& start) {
    const auto kept = nominations_.find(static_cast<int>(start.job.value));
    if (kept != nominations_.end() && kept->second.waits_for.empty())
      RC_ASSERT(start.allocation == kept->second.nomination.allocation);
    if (kept != nominations_.end()) nominations_.erase(kept);
    twin_.start(start);
  }
};

RC_GTEST_PROP(Quota, ComesToRestWithGrace, ()) {
  const World world = draw_world();
  const int64_t grace = draw(1, 60);
  constexpr int64_t kPaces[] = {1, 20, 3600};
  const int64_t pace = kPaces[draw(0, 2)];
  RC_LOG() << show(world) << "grace " << grace << "\n";
  Twin::Options options;
  options.grace = base::seconds(grace);
  draw_past(world, options);
  Twin twin(world, options);
  RC_ASSERT(Departures(twin, grace).settle(pace, most_passes(world)));
}

}  // namespace
}  // namespace gw::prop
