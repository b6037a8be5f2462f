// Rules 5 to 8: who may take from whom, and which jobs are taken.
//
// A job that is taken becomes a waiting one in a copy of the world; fair shares stay those of the world as it was.
#include <algorithm>
#include <tuple>
#include <utility>

#include "tests/oracle/quota.h"
#include "tests/oracle/sides.h"

namespace gw::oracle {
namespace {

// Where the paths of two jobs part: the deepest QOS (or the root) above both, and the side of each right below it.
struct Parting {
  std::string common;
  std::string own;
  std::string other;
};

Parting parting_of(const World& world, const Job& taker, const Job& victim) {
  Parting parting;
  for (const std::string& side : path_of(world, victim)) {
    if (stands_in(world, taker, side)) break;
    parting.other = side;
  }
  parting.common = parent_of(world, parting.other);
  for (const std::string& side : path_of(world, taker)) {
    if (parent_of(world, side) == parting.common) parting.own = side;
  }
  return parting;
}

bool preempts_children(const World& world, const std::string& side) {
  const Qos* qos = qos_of(world, side);
  return qos != nullptr && qos->preempt_children;
}

int64_t min_runtime_of(const World& world, const Job& job) {
  for (std::string name = job.qos; !name.empty(); name = parent_of(world, name)) {
    if (const int64_t own = qos_of(world, name)->min_runtime_s; own > 0) return own;
  }
  return 0;
}

bool can_be_taken(const World& world, const Job& job) {
  return job.running && job.preemptible && world.now_s - job.started_s >= min_runtime_of(world, job);
}

// What the two conditions of rule 5 measure a side by.
int64_t bound_of(const World& world, const Shares& shares, const std::string& side, const std::string& resource,
                 Reclaim mode) {
  return mode == Reclaim::kFairShare ? amount_of(shares.at(side), resource) : guaranteed_of(world, side, resource);
}

// Whether the taker's own side would stay within, and the other one is above in something that the taker asks for, both
// have a line for, and the victim holds some of.
bool may_reclaim(const World& world, const Shares& shares, const Parting& parting, const Job& taker, const Job& victim,
                 Reclaim mode) {
  for (const std::string& resource : lines_of(world, parting.own)) {
    const int64_t need = need_of(taker, resource);
    const int64_t bound = bound_of(world, shares, parting.own, resource, mode);
    if (need > 0 && allocated(world, parting.own, resource) + need > bound) return false;
  }
  const std::vector<std::string> lines = lines_of(world, parting.other);
  return std::any_of(lines.begin(), lines.end(), [&](const std::string& resource) {
    const int64_t bound = bound_of(world, shares, parting.other, resource, mode);
    return need_of(taker, resource) > 0 && need_of(victim, resource) > 0 && has_line(world, parting.own, resource) &&
           allocated(world, parting.other, resource) > bound;
  });
}

// Taking must leave the two sides in the order in which they are, or they would take in turns.
bool keeps_order(const World& world, const Shares& shares, const Parting& parting, const Job& taker) {
  return dominant_share(world, shares, parting.own, &taker) < dominant_share(world, shares, parting.other, nullptr);
}

std::vector<Grant> grants_by(const World& world, const Shares& shares, const Job& taker, const Job& victim) {
  std::vector<Grant> grants;
  if (taker.running || !can_be_taken(world, victim)) return grants;
  if (leaf_of(world, taker) == leaf_of(world, victim)) {
    if (world.preempt && taker.priority > victim.priority) grants.push_back({7, Reclaim::kNone});
    return grants;
  }
  const Parting parting = parting_of(world, taker, victim);
  const bool commands = preempts_children(world, parting.common);
  // What an inner QOS takes by rule 6 must not be taken back.
  if (commands && is_implicit(parting.other)) return grants;
  const bool by_share = world.reclaim == Reclaim::kFairShare && keeps_order(world, shares, parting, taker) &&
                        may_reclaim(world, shares, parting, taker, victim, Reclaim::kFairShare);
  if (by_share) grants.push_back({5, Reclaim::kFairShare});
  const bool by_guarantee =
      world.reclaim != Reclaim::kNone && may_reclaim(world, shares, parting, taker, victim, Reclaim::kGuaranteed);
  if (by_guarantee) grants.push_back({5, Reclaim::kGuaranteed});
  if (world.reclaim != Reclaim::kNone && commands && is_implicit(parting.own)) grants.push_back({6, Reclaim::kNone});
  return grants;
}

// Whether no side that is the victim's and not the taker's would fall below its guarantee in what the victim holds.
bool leaves_guarantees(const World& world, const Job& taker, const Job& victim) {
  for (const std::string& side : path_of(world, victim)) {
    if (stands_in(world, taker, side)) break;
    for (const std::string& resource : lines_of(world, side)) {
      const int64_t before = allocated(world, side, resource);
      const int64_t guaranteed = guaranteed_of(world, side, resource);
      if (before >= guaranteed && before - need_of(victim, resource) < guaranteed) return false;
    }
  }
  return true;
}

enum class Round { kOne, kTwo };

// Whether the victim may be taken as things are. Round two lets in those whose going brings a side below its guarantee,
// but nobody loses what is guaranteed to one who would borrow it.
bool may_take_in(const World& world, const Shares& shares, const Job& taker, const Job& victim, Round round) {
  const std::vector<Grant> grants = grants_by(world, shares, taker, victim);
  if (leaves_guarantees(world, taker, victim)) return !grants.empty();
  const bool is_by_share_alone = grants == std::vector<Grant>{{5, Reclaim::kFairShare}};
  return round == Round::kTwo && !grants.empty() && !is_by_share_alone;
}

std::vector<const Job*> candidates_of(const World& world, const Shares& shares, const Job& taker,
                                      const std::set<int>& leaving, Round round) {
  std::vector<const Job*> candidates;
  for (const Job& job : world.jobs) {
    if (!leaving.contains(job.id) && may_take_in(world, shares, taker, job, round)) candidates.push_back(&job);
  }
  return candidates;
}

// Whether each of `taken` may be taken in its turn, from `world` on, in which all of them run.
bool may_take_each(World world, const Shares& shares, int taker, const std::vector<int>& taken, Round round) {
  return std::all_of(taken.begin(), taken.end(), [&](int id) {
    const bool may = may_take_in(world, shares, job_of(world, taker), job_of(world, id), round);
    job_of(world, id).running = false;
    return may;
  });
}

bool is_taken_before(const World& world, const Job& a, const Job& b) {
  const auto lost = [&](const Job& job) { return Wide{need_of(job, "gpu")} * (world.now_s - job.started_s); };
  return std::tuple(a.priority, lost(a), -a.started_s, -a.id) < std::tuple(b.priority, lost(b), -b.started_s, -b.id);
}

// Down from the root by the highest allocated / fair share among the sides that hold candidates, the taker's own
// included, then the cheapest job of the side.
const Job& choose(const World& world, const Shares& shares, std::vector<const Job*> candidates) {
  std::string side;
  while (!children_of(world, side).empty()) {
    std::optional<std::string> highest;
    for (const std::string& child : children_of(world, side)) {  // ordered by name
      const bool has_one = std::any_of(candidates.begin(), candidates.end(),
                                       [&](const Job* job) { return stands_in(world, *job, child); });
      if (!has_one) continue;
      const auto share = [&](const std::string& name) { return dominant_share(world, shares, name, nullptr); };
      if (!highest || share(*highest) < share(child)) highest = child;
    }
    side = highest.value();
    std::erase_if(candidates, [&](const Job* job) { return !stands_in(world, *job, side); });
  }
  return **std::min_element(candidates.begin(), candidates.end(),
                            [&](const Job* a, const Job* b) { return is_taken_before(world, *a, *b); });
}

bool can_start(const World& world, int job) { return fits(world, job) && may_start(world, job); }

World with_running(World world, const std::vector<int>& ids, bool running) {
  for (const int id : ids) job_of(world, id).running = running;
  return world;
}

bool is_any_by_priority(const World& world, int taker, const std::vector<int>& taken) {
  const std::string own = leaf_of(world, job_of(world, taker));
  return std::any_of(taken.begin(), taken.end(), [&](int id) { return leaf_of(world, job_of(world, id)) == own; });
}

// Whether somebody beside or above the side could take back from it.
bool is_exposed(const World& world, const std::string& side) {
  return !is_implicit(side) || !preempts_children(world, owner_of(side));
}

// Rule 7 exchanges nobody for one who is more easily taken: of the sides above the taker none that is within its
// guarantee, or its fair share, may be beyond it after the exchange, in what the taker asks for. Where nobody reclaims
// it is no matter. `before` is as it was before anybody was taken.
bool keeps_lines(const World& before, const Shares& shares, int taker, const std::vector<int>& taken) {
  if (before.reclaim == Reclaim::kNone) return true;
  const World after = with_running(before, taken, false);
  const Job& starter = job_of(before, taker);
  const auto keeps = [&](const std::string& side, const std::string& resource, Reclaim mode) {
    const int64_t bound = bound_of(before, shares, side, resource, mode);
    const int64_t had = allocated(before, side, resource);
    return had > bound || allocated(after, side, resource) + need_of(starter, resource) <= bound;
  };
  for (const std::string& side : path_of(before, starter)) {
    if (!is_exposed(before, side)) continue;
    for (const std::string& resource : lines_of(before, side)) {
      if (need_of(starter, resource) == 0) continue;
      if (!keeps(side, resource, Reclaim::kGuaranteed)) return false;
      if (before.reclaim == Reclaim::kFairShare && !keeps(side, resource, Reclaim::kFairShare)) return false;
    }
  }
  return true;
}

bool is_allowed_by_priority(const World& before, const Shares& shares, int taker, const std::vector<int>& taken) {
  return !is_any_by_priority(before, taker, taken) || keeps_lines(before, shares, taker, taken);
}

bool is_enough(const World& before, const Shares& shares, int taker, const std::vector<int>& taken) {
  return can_start(with_running(before, taken, false), taker) && is_allowed_by_priority(before, shares, taker, taken);
}

// The last one first: who is not needed for the room, nor for that the others may be taken (by leaving the taker's own
// side it may have made that side stay within). If that leaves nobody who was taken by rule 7, which may have asked for
// others, once more. `world` is as it was before anybody was taken.
std::vector<int> give_back(const World& world, const Shares& shares, int taker, std::vector<int> taken, Round round) {
  const bool was_by_priority = is_any_by_priority(world, taker, taken);
  for (size_t i = taken.size(); i-- > 0;) {
    std::vector<int> others = taken;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    const bool suffices = is_enough(world, shares, taker, others);
    if (suffices && may_take_each(world, shares, taker, others, round)) taken = std::move(others);
  }
  const bool is_by_priority = is_any_by_priority(world, taker, taken);
  return was_by_priority && !is_by_priority ? give_back(world, shares, taker, std::move(taken), round) : taken;
}

using Nodes = std::set<int>;

bool stands_on(const Job& job, const Nodes& nodes) {
  return std::any_of(job.at.begin(), job.at.end(), [&](int node) { return nodes.contains(node); });
}

enum class Rules { kAll, kNotPriority };

// Nobody but those who have a part on one of `nodes`. If they make room, but rule 7 does not allow it, nobody is taken
// by rule 7.
std::optional<std::vector<int>> take(const World& before, const Shares& shares, int taker, const std::set<int>& leaving,
                                     Round round, const Nodes& nodes, Rules rules = Rules::kAll) {
  World world = before;
  std::vector<int> taken;
  while (!is_enough(before, shares, taker, taken)) {
    std::vector<const Job*> candidates = candidates_of(world, shares, job_of(world, taker), leaving, round);
    std::erase_if(candidates, [&](const Job* job) {
      return !stands_on(*job, nodes) || (rules == Rules::kNotPriority && is_any_by_priority(world, taker, {job->id}));
    });
    if (candidates.empty() && rules == Rules::kAll && can_start(world, taker))
      return take(before, shares, taker, leaving, round, nodes, Rules::kNotPriority);
    if (candidates.empty()) return std::nullopt;
    taken.push_back(choose(world, shares, candidates).id);
    job_of(world, taken.back()).running = false;
  }
  return give_back(before, shares, taker, std::move(taken), round);
}

// The nodes of which somebody could be taken as things are: first those where the fewest GPUs stay held, then where the
// least work is lost, then by number.
std::vector<int> nodes_in_order(const World& world, const Shares& shares, int taker, const std::set<int>& leaving,
                                Round round) {
  const std::vector<const Job*> candidates = candidates_of(world, shares, job_of(world, taker), leaving, round);
  std::vector<std::tuple<int64_t, Wide, int>> ranked;
  for (int node = 0; node < std::ssize(world.nodes); ++node) {
    int64_t stays = 0;
    Wide lost = 0;
    bool is_clearable = false;
    for (const Job& job : world.jobs) {
      if (!job.running || !stands_on(job, {node})) continue;
      const bool goes = std::find(candidates.begin(), candidates.end(), &job) != candidates.end();
      const auto gpu = job.per_task.find("gpu");
      if (!goes && gpu != job.per_task.end()) stays += std::count(job.at.begin(), job.at.end(), node) * gpu->second;
      if (goes) lost += Wide{need_of(job, "gpu")} * (world.now_s - job.started_s);
      is_clearable |= goes;
    }
    if (is_clearable) ranked.emplace_back(stays, lost, node);
  }
  std::sort(ranked.begin(), ranked.end());
  std::vector<int> nodes;
  for (const auto& [stays, lost, node] : ranked) nodes.push_back(node);
  return nodes;
}

// In the order of rule 8 wherever they are; if that makes no room, on the first node, on the first two, and so on.
std::optional<std::vector<int>> take_in(const World& world, const Shares& shares, int taker,
                                        const std::set<int>& leaving, Round round) {
  Nodes nodes;
  for (int node = 0; node < std::ssize(world.nodes); ++node) nodes.insert(node);
  if (auto taken = take(world, shares, taker, leaving, round, nodes)) return taken;
  nodes.clear();
  for (const int node : nodes_in_order(world, shares, taker, leaving, round)) {
    nodes.insert(node);
    if (auto taken = take(world, shares, taker, leaving, round, nodes)) return taken;
  }
  return std::nullopt;
}

}  // namespace

std::vector<Grant> grants_of(const World& world, int taker, int victim) {
  return grants_by(world, fair_shares(world), job_of(world, taker), job_of(world, victim));
}

std::optional<Grant> may_take(const World& world, int taker, int victim) {
  const std::vector<Grant> grants = grants_of(world, taker, victim);
  return grants.empty() ? std::nullopt : std::optional(grants.front());
}

bool may_take_all(const World& world, int taker, const std::vector<int>& taken) {
  const Shares shares = fair_shares(world);
  return may_take_each(world, shares, taker, taken, Round::kTwo) && is_allowed_by_priority(world, shares, taker, taken);
}

std::optional<std::vector<int>> victims(const World& world, int taker, const std::set<int>& leaving) {
  const Shares shares = fair_shares(world);
  auto taken = take_in(world, shares, taker, leaving, Round::kOne);
  return taken ? taken : take_in(world, shares, taker, leaving, Round::kTwo);
}

}  // namespace gw::oracle
