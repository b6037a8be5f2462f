// Rules 3 and 4: who is served next, and what may start.
#include <algorithm>
#include <functional>
#include <set>
#include <tuple>

#include "tests/oracle/quota.h"
#include "tests/oracle/sides.h"

namespace gw::oracle {
namespace {

// A side with the job that it would serve next, and how urgent that makes it among its siblings.
struct Rank {
  const Job* job = nullptr;
  int band = 2;          // 0 within the guarantee, 1 within the fair share, 2 beyond
  int64_t priority = 0;  // of the side, where there is too little for all guarantees
  Ratio with;
  Ratio without;
};

bool is_before(const Job& a, const Job& b) {
  return std::tuple(-a.priority, a.submitted_s, a.id) < std::tuple(-b.priority, b.submitted_s, b.id);
}

bool is_before(const Rank& a, const Rank& b) {
  if (a.band != b.band) return a.band < b.band;
  if (a.priority != b.priority) return a.priority > b.priority;
  if (a.with < b.with || b.with < a.with) return a.with < b.with;
  if (a.without < b.without || b.without < a.without) return a.without < b.without;
  return is_before(*a.job, *b.job);
}

// Whether every line of the side holds what is there and the job.
bool stays_within(const World& world, const std::string& side, const Job& job,
                  const std::function<int64_t(const std::string& resource)>& bound) {
  const std::vector<std::string> lines = lines_of(world, side);
  return std::all_of(lines.begin(), lines.end(), [&](const std::string& resource) {
    return allocated(world, side, resource) + need_of(job, resource) <= bound(resource);
  });
}

// Whether there is less to divide below the side than its children are guaranteed and want.
bool is_short(const World& world, const Shares& shares, const std::string& side) {
  const std::set<std::string> resources = resources_of(world);
  return std::any_of(resources.begin(), resources.end(), [&](const std::string& resource) {
    int64_t due = 0;
    for (const std::string& child : children_of(world, side)) {
      if (has_line(world, child, resource)) due += amount_of(shares.at(child), resource);
    }
    const bool is_divided = !side.empty() && has_line(world, side, resource);
    return due > (is_divided ? amount_of(shares.at(side), resource) : capacity_of(world, resource));
  });
}

Rank rank_of(const World& world, const Shares& shares, const std::string& side, const Job& job) {
  const auto guarantee = [&](const std::string& resource) { return guaranteed_of(world, side, resource); };
  const auto share = [&](const std::string& resource) { return amount_of(shares.at(side), resource); };
  Rank rank;
  rank.job = &job;
  if (stays_within(world, side, job, guarantee)) {
    rank.band = 0;
    const Qos* qos = qos_of(world, side);
    if (qos != nullptr && is_short(world, shares, parent_of(world, side))) rank.priority = qos->priority;
  } else if (stays_within(world, side, job, share)) {
    rank.band = 1;
  }
  rank.with = dominant_share(world, shares, side, &job);
  rank.without = dominant_share(world, shares, side, nullptr);
  return rank;
}

const Job* first_in_leaf(const World& world, const std::string& side, const std::set<int>& blocked) {
  const Job* first = nullptr;
  for (const Job& job : world.jobs) {
    const bool is_open = !job.running && !blocked.contains(job.id) && leaf_of(world, job) == side;
    if (is_open && (first == nullptr || is_before(job, *first))) first = &job;
  }
  return first;
}

const Job* first_in(const World& world, const Shares& shares, const std::string& side, const std::set<int>& blocked) {
  const std::vector<std::string> children = children_of(world, side);
  if (children.empty()) return first_in_leaf(world, side, blocked);
  std::optional<Rank> first;
  for (const std::string& child : children) {
    const Job* job = first_in(world, shares, child, blocked);
    if (job == nullptr) continue;
    const Rank rank = rank_of(world, shares, child, *job);
    if (!first || is_before(rank, *first)) first = rank;
  }
  return first ? first->job : nullptr;
}

void add_limits(const World& world, const Job& job, const std::string& side, std::vector<Bar>& bars) {
  const Qos* qos = qos_of(world, side);
  if (qos == nullptr) return;
  for (const auto& [resource, limit] : qos->limit) {
    const int64_t need = need_of(job, resource);
    const bool is_over = need > 0 && allocated(world, side, resource) + need > limit;
    if (is_over) bars.push_back({Bar::Kind::kLimit, side, resource});
  }
}

void add_guarantees(const World& world, const Job& job, const std::string& side, std::vector<Bar>& bars) {
  // The jobs of a QOS that may take from its descendants are held to what the QOS has, not to what those leave over.
  const Qos* owner = qos_of(world, owner_of(side));
  if (is_implicit(side) && owner != nullptr && owner->preempt_children) return;
  for (const std::string& resource : lines_of(world, side)) {
    const int64_t need = need_of(job, resource);
    const int64_t guaranteed = guaranteed_of(world, side, resource);
    const bool is_over = need > 0 && held_for_good(world, side, resource) + need > guaranteed;
    if (is_over) bars.push_back({Bar::Kind::kGuarantee, side, resource});
  }
}

// How many tasks of the job find room in what is free on one node, `tasks` at most.
int64_t tasks_in(const Amounts& free, const Job& job) {
  int64_t tasks = job.tasks;
  for (const auto& [resource, amount] : job.per_task) {
    if (amount > 0) tasks = std::min(tasks, std::max<int64_t>(0, amount_of(free, resource)) / amount);
  }
  return tasks;
}

std::vector<Amounts> free_of(const World& world) {
  std::vector<Amounts> free = world.nodes;
  for (const Job& job : world.jobs) {
    if (!job.running) continue;
    for (const int node : job.at) {
      for (const auto& [resource, amount] : job.per_task) free.at(node)[resource] -= amount;
    }
  }
  return free;
}

}  // namespace

std::optional<int> next_job(const World& world, const std::set<int>& blocked) {
  const Job* job = first_in(world, fair_shares(world), "", blocked);
  return job == nullptr ? std::nullopt : std::optional(job->id);
}

std::vector<Bar> bars_of(const World& world, int job) {
  const Job& starter = job_of(world, job);
  std::vector<Bar> bars;
  for (const std::string& side : path_of(world, starter)) add_limits(world, starter, side, bars);
  if (starter.preemptible) return bars;
  for (const std::string& side : path_of(world, starter)) add_guarantees(world, starter, side, bars);
  return bars;
}

bool may_start(const World& world, int job) { return bars_of(world, job).empty(); }

bool fits(const World& world, int job) {
  const Job& starter = job_of(world, job);
  int64_t tasks = 0;
  for (const Amounts& free : free_of(world)) tasks += tasks_in(free, starter);
  return tasks >= starter.tasks;
}

}  // namespace gw::oracle
