// Rules 5 to 8: who may take from whom, and which jobs are taken: the cheapest of all sets that the rules allow.
//
// A job that is taken becomes a waiting one in a copy of the world; fair shares stay those of the world as it was.
#include <algorithm>
#include <functional>
#include <map>
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

Parting parting_of(const World& world, const Job& preemptor, const Job& victim) {
  Parting parting;
  for (const std::string& side : path_of(world, victim)) {
    if (stands_in(world, preemptor, side)) break;
    parting.other = side;
  }
  parting.common = parent_of(world, parting.other);
  for (const std::string& side : path_of(world, preemptor)) {
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

// Whether the preemptor's own side would stay within, and the other one is above in something that the preemptor asks
// for, both have a line for, and the victim holds some of.
bool may_reclaim(const World& world, const Shares& shares, const Parting& parting, const Job& preemptor,
                 const Job& victim, Reclaim mode) {
  for (const std::string& resource : lines_of(world, parting.own)) {
    const int64_t need = need_of(preemptor, resource);
    const int64_t bound = bound_of(world, shares, parting.own, resource, mode);
    if (need > 0 && allocated(world, parting.own, resource) + need > bound) return false;
  }
  const std::vector<std::string> lines = lines_of(world, parting.other);
  return std::any_of(lines.begin(), lines.end(), [&](const std::string& resource) {
    const int64_t bound = bound_of(world, shares, parting.other, resource, mode);
    return need_of(preemptor, resource) > 0 && need_of(victim, resource) > 0 &&
           has_line(world, parting.own, resource) && allocated(world, parting.other, resource) > bound;
  });
}

// Taking must leave the two sides in the order in which they are, or they would take in turns.
bool keeps_order(const World& world, const Shares& shares, const Parting& parting, const Job& preemptor) {
  return dominant_share(world, shares, parting.own, &preemptor) < dominant_share(world, shares, parting.other, nullptr);
}

std::vector<Grant> grants_by(const World& world, const Shares& shares, const Job& preemptor, const Job& victim) {
  std::vector<Grant> grants;
  if (preemptor.running || !can_be_taken(world, victim)) return grants;
  if (leaf_of(world, preemptor) == leaf_of(world, victim)) {
    if (world.preempt && preemptor.priority > victim.priority) grants.push_back({7, Reclaim::kNone});
    return grants;
  }
  const Parting parting = parting_of(world, preemptor, victim);
  const bool commands = preempts_children(world, parting.common);
  // What an inner QOS takes by rule 6 must not be taken back.
  if (commands && is_implicit(parting.other)) return grants;
  const bool by_share = world.reclaim == Reclaim::kFairShare && keeps_order(world, shares, parting, preemptor) &&
                        may_reclaim(world, shares, parting, preemptor, victim, Reclaim::kFairShare);
  if (by_share) grants.push_back({5, Reclaim::kFairShare});
  const bool by_guarantee =
      world.reclaim != Reclaim::kNone && may_reclaim(world, shares, parting, preemptor, victim, Reclaim::kGuaranteed);
  if (by_guarantee) grants.push_back({5, Reclaim::kGuaranteed});
  if (world.reclaim != Reclaim::kNone && commands && is_implicit(parting.own)) grants.push_back({6, Reclaim::kNone});
  return grants;
}

// Whether the victim could go by any rule once others are gone, too.
std::vector<Grant> hopes_of(const World& world, const Shares& shares, const Job& preemptor, const Job& victim) {
  if (preemptor.running || !can_be_taken(world, victim)) return {};
  if (leaf_of(world, preemptor) == leaf_of(world, victim)) return grants_by(world, shares, preemptor, victim);
  const Parting parting = parting_of(world, preemptor, victim);
  const bool commands = preempts_children(world, parting.common);
  if (world.reclaim == Reclaim::kNone || (commands && is_implicit(parting.other))) return {};
  return {{commands && is_implicit(parting.own) ? 6 : 5, Reclaim::kNone}};
}

// What the side is due, and so what its jobs can be covered by.
using Due = std::function<int64_t(const std::string& side, const std::string& resource)>;

Due due_by(const World& world, const Shares& shares, Reclaim mode) {
  return [&world, &shares, mode](const std::string& side, const std::string& resource) {
    return bound_of(world, shares, side, resource, mode);
  };
}

// Rule 8: those of the side's running jobs that fit into what it is due, one after the other.
std::set<int> covered_at(const World& world, const std::string& side, const Due& due) {
  std::set<int> below;
  for (const std::string& child : children_of(world, side)) below.merge(covered_at(world, child, due));
  std::vector<const Job*> jobs;
  for (const Job& job : world.jobs) {
    if (job.running && stands_in(world, job, side)) jobs.push_back(&job);
  }
  const auto rank = [&](const Job* job) {
    return std::tuple(job->gang != 0, job->preemptible, !below.contains(job->id), -job->priority, job->started_s,
                      job->id);
  };
  std::sort(jobs.begin(), jobs.end(), [&](const Job* a, const Job* b) { return rank(a) < rank(b); });
  const std::vector<std::string> lines = lines_of(world, side);
  std::map<std::string, int64_t> sum;
  std::set<int> covered;
  for (const Job* job : jobs) {
    const bool fits = std::all_of(lines.begin(), lines.end(), [&](const std::string& resource) {
      const int64_t need = need_of(*job, resource);
      return need == 0 || sum[resource] + need <= due(side, resource);
    });
    if (!fits || (job->gang != 0 && !covered.contains(job->gang))) continue;
    covered.insert(job->id);
    for (const std::string& resource : lines) sum[resource] += need_of(*job, resource);
  }
  return covered;
}

int64_t amount_covered(const World& world, const std::string& side, const std::string& resource, const Due& due) {
  int64_t sum = 0;
  for (const int id : covered_at(world, side, due)) sum += need_of(job_of(world, id), resource);
  return sum;
}

World with_running(World world, const std::vector<int>& ids, bool running) {
  for (const int id : ids) job_of(world, id).running = running;
  return world;
}

// From the victim's side up to where the paths part.
std::vector<std::string> own_path_of(const World& world, const Job& preemptor, const Job& victim) {
  std::vector<std::string> path;
  for (const std::string& side : path_of(world, victim)) {
    if (stands_in(world, preemptor, side)) break;
    path.push_back(side);
  }
  return path;
}

// Whether no side of the victims, up to where the paths part, has less covered once they are gone.
bool keeps_covered(const World& before, const World& after, const Job& preemptor, const std::vector<int>& group,
                   const std::vector<int>& taken, const Due& due) {
  std::set<std::string> sides;
  for (const int id : group) {
    for (const std::string& side : own_path_of(before, preemptor, job_of(before, id))) sides.insert(side);
  }
  return std::all_of(sides.begin(), sides.end(), [&](const std::string& side) {
    const std::vector<std::string> lines = lines_of(before, side);
    return std::all_of(lines.begin(), lines.end(), [&](const std::string& resource) {
      const bool is_taken = std::any_of(taken.begin(), taken.end(), [&](int id) {
        return stands_in(before, job_of(before, id), side) && need_of(job_of(before, id), resource) > 0;
      });
      return !is_taken || amount_covered(after, side, resource, due) >= amount_covered(before, side, resource, due);
    });
  });
}

// Whether the job asks for GPUs, and each task for no more cores and memory than belong to its GPUs on some node.
bool keeps_to_its_gpus(const World& world, const Job& job) {
  const int64_t gpus = amount_of(job.per_task, "gpu");
  return gpus > 0 && std::any_of(world.nodes.begin(), world.nodes.end(), [&](const Amounts& node) {
           const auto is_theirs = [&](const std::string& resource) {
             return amount_of(job.per_task, resource) * amount_of(node, "gpu") <= amount_of(node, resource) * gpus;
           };
           return gpus <= amount_of(node, "gpu") && is_theirs("cpu") && is_theirs("mem");
         });
}

// Rule 5: cores and memory of guaranteed GPUs are lent to jobs without GPUs, but for those that `cpu` or `mem` covers.
bool lends_cores(const World& world, const Job& preemptor, const Job& victim, const Due& guarantees) {
  if (need_of(victim, "gpu") > 0 || !keeps_to_its_gpus(world, preemptor)) return false;
  const Parting parting = parting_of(world, preemptor, victim);
  const std::vector<std::string> own = lines_of(world, parting.own);
  const bool is_guaranteed = std::all_of(own.begin(), own.end(), [&](const std::string& resource) {
    return need_of(preemptor, resource) <= guarantees(parting.own, resource);
  });
  if (!is_guaranteed) return false;
  const std::vector<std::string> path = own_path_of(world, preemptor, victim);
  return std::none_of(path.begin(), path.end(), [&](const std::string& side) {
    const auto has = [&](const std::string& resource) {
      return has_line(world, side, resource) && need_of(victim, resource) > 0;
    };
    return (has("cpu") || has("mem")) && covered_at(world, side, guarantees).contains(victim.id);
  });
}

// Rule 5 by one of its comparisons, of all who stand below one side. `after` is without all who are taken.
bool may_reclaim_all(const World& before, const World& after, const Shares& shares, int preemptor_id,
                     const std::vector<int>& group, const std::vector<int>& taken, Reclaim mode) {
  const Job& preemptor = job_of(before, preemptor_id);
  const Parting parting = parting_of(before, preemptor, job_of(before, group.front()));
  const auto bound = [&](const std::string& side, const std::string& resource) {
    return bound_of(before, shares, side, resource, mode);
  };
  for (const std::string& resource : lines_of(before, parting.own)) {
    const int64_t need = need_of(preemptor, resource);
    if (need > 0 && allocated(after, parting.own, resource) + need > bound(parting.own, resource)) return false;
  }
  const Due guarantees = due_by(before, shares, Reclaim::kGuaranteed);
  const auto would_be_above = [&](int id) {
    if (mode == Reclaim::kGuaranteed && lends_cores(before, preemptor, job_of(before, id), guarantees)) return true;
    const std::vector<std::string> lines = lines_of(before, parting.other);
    return std::any_of(lines.begin(), lines.end(), [&](const std::string& resource) {
      const int64_t part = need_of(job_of(before, id), resource);
      return part > 0 && need_of(preemptor, resource) > 0 && has_line(before, parting.own, resource) &&
             allocated(after, parting.other, resource) + part > bound(parting.other, resource);
    });
  };
  if (!std::all_of(group.begin(), group.end(), would_be_above)) return false;
  if (!keeps_covered(before, after, preemptor, group, taken, guarantees)) return false;
  if (mode == Reclaim::kGuaranteed) return true;
  const auto is_last = [&](int id) {
    return dominant_share(after, shares, parting.own, &preemptor) <
           dominant_share(after, shares, parting.other, &job_of(before, id));
  };
  // A side that a borrower brought below its guarantee could take back.
  const auto is_larger_than_its_share = [&](int id) {
    const std::vector<std::string> lines = lines_of(before, parting.other);
    return std::any_of(lines.begin(), lines.end(), [&](const std::string& resource) {
      const int64_t need = need_of(job_of(before, id), resource);
      return need > 0 && need > bound(parting.other, resource);
    });
  };
  const auto keeps_guarantees = [&](int id) {
    if (is_larger_than_its_share(id)) return true;
    const std::vector<std::string> path = own_path_of(before, preemptor, job_of(before, id));
    return std::all_of(path.begin(), path.end(), [&](const std::string& side) {
      const std::vector<std::string> lines = lines_of(before, side);
      return std::all_of(lines.begin(), lines.end(), [&](const std::string& resource) {
        const int64_t had = allocated(before, side, resource), due = guaranteed_of(before, side, resource);
        return need_of(job_of(before, id), resource) == 0 || allocated(after, side, resource) >= std::min(had, due);
      });
    });
  };
  return std::any_of(group.begin(), group.end(), is_last) &&
         std::all_of(group.begin(), group.end(), keeps_guarantees) &&
         keeps_covered(before, after, preemptor, group, taken, due_by(before, shares, Reclaim::kFairShare));
}

bool may_take_group(const World& before, const World& after, const Shares& shares, int preemptor,
                    const std::vector<int>& group, const std::vector<int>& taken) {
  if (before.reclaim == Reclaim::kNone) return false;
  const Parting parting = parting_of(before, job_of(before, preemptor), job_of(before, group.front()));
  if (preempts_children(before, parting.common) && is_implicit(parting.own)) return true;
  if (preempts_children(before, parting.common) && is_implicit(parting.other)) return false;
  const auto by = [&](Reclaim mode) { return may_reclaim_all(before, after, shares, preemptor, group, taken, mode); };
  return by(Reclaim::kGuaranteed) || (before.reclaim == Reclaim::kFairShare && by(Reclaim::kFairShare));
}

bool can_start(const World& world, int job) { return fits(world, job) && may_start(world, job); }

bool is_by_priority(const World& world, int preemptor, int victim) {
  return leaf_of(world, job_of(world, victim)) == leaf_of(world, job_of(world, preemptor));
}

// Whether somebody beside or above the side could take back from it.
bool is_exposed(const World& world, const std::string& side) {
  return !is_implicit(side) || !preempts_children(world, owner_of(side));
}

// Rule 7 exchanges nobody for one who is more easily taken: of the sides above the preemptor none that is within its
// guarantee, or its fair share, may be beyond it after the exchange, in what the preemptor asks for. Where nobody
// reclaims it is no matter. `before` is as it was before anybody was taken.
bool keeps_lines(const World& before, const World& after, const Shares& shares, int preemptor) {
  if (before.reclaim == Reclaim::kNone) return true;
  const Job& starter = job_of(before, preemptor);
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

bool may_take_set(const World& world, const Shares& shares, int preemptor, const std::vector<int>& taken) {
  const World after = with_running(world, taken, false);
  std::map<std::string, std::vector<int>> groups;  // by the side where the path to the preemptor is left
  bool has_rivals = false;
  for (const int id : taken) {
    const Job& victim = job_of(world, id);
    if (!can_be_taken(world, victim)) return false;
    if (!is_by_priority(world, preemptor, id)) {
      groups[parting_of(world, job_of(world, preemptor), victim).other].push_back(id);
    } else if (world.preempt && victim.priority < job_of(world, preemptor).priority) {
      has_rivals = true;
    } else {
      return false;
    }
  }
  if (has_rivals && !keeps_lines(world, after, shares, preemptor)) return false;
  return std::all_of(groups.begin(), groups.end(), [&](const auto& group) {
    return may_take_group(world, after, shares, preemptor, group.second, taken);
  });
}

// Covered at no side up to where the paths part; or taken by rule 7.
bool is_borrowed(const World& world, const Shares& shares, int preemptor, int victim) {
  const Due due = due_by(world, shares, Reclaim::kGuaranteed);
  if (leaf_of(world, job_of(world, preemptor)) != leaf_of(world, job_of(world, victim)) &&
      lends_cores(world, job_of(world, preemptor), job_of(world, victim), due))
    return true;
  const std::vector<std::string> path = own_path_of(world, job_of(world, preemptor), job_of(world, victim));
  return std::none_of(path.begin(), path.end(),
                      [&](const std::string& side) { return covered_at(world, side, due).contains(victim); });
}

// To stop a job and start it again costs so much for each GPU, whenever its work was last saved.
constexpr int64_t kRestartSeconds = 600;

// By submitted priority, the highest first: what is lost there.
using Losses = std::map<int64_t, Wide, std::greater<>>;

struct Price {
  bool has_covered = false;
  Losses losses;
  bool operator<(const Price& o) const {
    const auto before = [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first < b.first : a.second < b.second;
    };
    if (has_covered != o.has_covered) return !has_covered;
    return std::lexicographical_compare(losses.begin(), losses.end(), o.losses.begin(), o.losses.end(), before);
  }
};

Price price_of(const World& world, const Shares& shares, int preemptor, const std::vector<int>& taken) {
  Price price;
  for (const int id : taken) {
    const Job& job = job_of(world, id);
    price.has_covered |= !is_borrowed(world, shares, preemptor, id);
    const int64_t lost_s = job.saves_work ? 0 : world.now_s - job.started_s;
    price.losses[job.priority] += Wide{need_of(job, "gpu")} * (lost_s + kRestartSeconds) + 1;
  }
  return price;
}

// Whom the rules could ever let go for the preemptor.
std::vector<int> candidates_of(const World& world, const Shares& shares, int preemptor, const std::set<int>& leaving) {
  std::vector<int> out;
  for (const Job& job : world.jobs) {
    if (!leaving.contains(job.id) && !hopes_of(world, shares, job_of(world, preemptor), job).empty())
      out.push_back(job.id);
  }
  return out;
}

}  // namespace

std::vector<Grant> grants_of(const World& world, int preemptor, int victim) {
  return grants_by(world, fair_shares(world), job_of(world, preemptor), job_of(world, victim));
}

std::optional<Grant> may_take(const World& world, int preemptor, int victim) {
  const std::vector<Grant> grants = grants_of(world, preemptor, victim);
  return grants.empty() ? std::nullopt : std::optional(grants.front());
}

bool may_take_all(const World& world, int preemptor, const std::vector<int>& taken) {
  return may_take_set(world, fair_shares(world), preemptor, taken);
}

std::set<int> covered(const World& world, const std::string& side, Reclaim mode) {
  const Shares shares = fair_shares(world);
  return covered_at(world, side, due_by(world, shares, mode));
}

bool is_as_cheap(const World& world, int preemptor, const std::vector<int>& a, const std::vector<int>& b) {
  const Shares shares = fair_shares(world);
  const Price of_a = price_of(world, shares, preemptor, a), of_b = price_of(world, shares, preemptor, b);
  return !(of_a < of_b) && !(of_b < of_a);
}

std::optional<std::vector<int>> victims(const World& world, int preemptor, const std::set<int>& leaving) {
  if (can_start(world, preemptor)) return std::vector<int>();
  const Shares shares = fair_shares(world);
  const std::vector<int> candidates = candidates_of(world, shares, preemptor, leaving);
  if (!can_start(with_running(world, candidates, false), preemptor)) return std::nullopt;
  std::vector<std::pair<Price, std::vector<int>>> sets;
  for (size_t bits = 1; bits < size_t{1} << candidates.size(); ++bits) {
    std::vector<int> set;
    for (size_t i = 0; i < candidates.size(); ++i) {
      if ((bits >> i & 1) != 0) set.push_back(candidates[i]);
    }
    if (can_start(with_running(world, set, false), preemptor))
      sets.emplace_back(price_of(world, shares, preemptor, set), set);
  }
  const auto youngest_first = [&](const std::vector<int>& set) {
    std::vector<std::pair<int64_t, int>> out;
    for (const int id : set) out.emplace_back(-job_of(world, id).started_s, -id);
    std::sort(out.begin(), out.end());
    return out;
  };
  std::sort(sets.begin(), sets.end(), [&](const auto& a, const auto& b) {
    if (a.first < b.first || b.first < a.first) return a.first < b.first;
    return youngest_first(a.second) < youngest_first(b.second);
  });
  for (auto& [price, set] : sets) {
    if (!may_take_set(world, shares, preemptor, set)) continue;
    std::sort(set.begin(), set.end());
    return set;
  }
  return std::nullopt;
}

}  // namespace gw::oracle
