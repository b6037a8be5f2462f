// See permission.h.
#include "sched/quota/permission.h"

#include <algorithm>
#include <array>
#include <map>

namespace gw::sched {

bool goes_before(const Candidate& a, const Candidate& b) {
  const auto rank = [](const Candidate& c) { return std::tuple(!c.gang, c.priority, c.loss); };
  if (rank(a) != rank(b)) return rank(a) < rank(b);
  if (a.beyond < b.beyond || b.beyond < a.beyond) return b.beyond < a.beyond;
  return std::tuple(a.gain, -a.started.us, ~a.job.value) < std::tuple(b.gain, -b.started.us, ~b.job.value);
}

bool is_cheaper_by_gpu(const Candidate& a, const Candidate& b) {
  if (a.priority != b.priority) return a.priority < b.priority;
  const uint64_t of_a = a.amounts[kGpu], of_b = b.amounts[kGpu];
  return of_a == 0 || of_b == 0 ? of_a < of_b : a.loss * of_b < b.loss * of_a;
}

uint64_t loss_of_part(const Candidate& c, uint64_t milli) {
  const uint64_t all = c.amounts[kGpu];
  return c.loss / all * milli + (c.loss % all * milli + all - 1) / all;
}

Lines::Lines(const Quotas& before, const Preemptor& preemptor) {
  const QuotaTree& tree = before.tree();
  for (uint32_t q = preemptor.leaf; q != 0 && q != kNoQos; q = tree.qos(q).parent) {
    const QosNode& qos = tree.qos(q);
    if (qos.is_own && tree.qos(qos.parent).preempt_children) continue;  // nobody beside it takes from it
    for (size_t r = 0; r < tree.width(); ++r) {
      if (preemptor.amounts[r] == 0 || !qos.has_line[r]) continue;
      const uint64_t has = before.tally().counted[q][r];
      const uint64_t guaranteed = before.shares().guaranteed[q][r], fair = before.shares().fair[q][r];
      if (preemptor.reclaim != Reclaim::kNone && has <= guaranteed)
        lines_.push_back({q, r, preemptor.amounts[r], guaranteed});
      if (preemptor.reclaim == Reclaim::kFairShare && has <= fair) lines_.push_back({q, r, preemptor.amounts[r], fair});
    }
  }
}

bool Lines::are_kept(const Quotas& now) const {
  return std::all_of(lines_.begin(), lines_.end(), [&](const Line& line) {
    return now.tally().counted[line.qos][line.resource] + line.asked <= line.most;
  });
}

namespace {

constexpr std::array kModes = {Reclaim::kGuaranteed, Reclaim::kFairShare};

/// By guarantee always where anybody reclaims at all.
bool is_in_force(Reclaim mode, Reclaim policy, const Candidate& candidate) {
  if (mode == Reclaim::kFairShare && candidate.is_settled) return false;
  return policy == Reclaim::kFairShare || (policy == Reclaim::kGuaranteed && mode == Reclaim::kGuaranteed);
}

}  // namespace

Permission::Parting Permission::parting(uint32_t leaf) const {
  const uint32_t at = tree_.common(leaf, preemptor_.leaf);
  return {at, tree_.towards(at, preemptor_.leaf), tree_.towards(at, leaf)};
}

bool Permission::goes_by_priority(const Candidate& candidate) const {
  return preemptor_.preempts && candidate.priority < preemptor_.priority;
}

bool Permission::yields(const Candidate& candidate) const {
  return candidate.gang && candidate.leaf == preemptor_.leaf && !preemptor_.is_growth;
}

bool Permission::lends_cores(const Candidate& candidate, const Parting& p) const {
  if (!preemptor_.keeps_to_its_gpus || candidate.amounts[kGpu] > 0) return false;
  if (!before_.could_stay_within(p.own, preemptor_.amounts, Reclaim::kGuaranteed)) return false;
  for (uint32_t q = candidate.leaf; q != p.at; q = tree_.qos(q).parent) {
    const auto has_line = [&](size_t r) {
      const std::string& name = tree_.resources()[r];
      return tree_.qos(q).has_line[r] && candidate.amounts[r] > 0 && (name == "cpu" || name == "mem");
    };
    for (size_t r = 0; r < tree_.width(); ++r)
      if (has_line(r) && covers_.guaranteed.is_covered(candidate.job, q)) return false;
  }
  return true;
}

bool Permission::could_go(const Candidate& candidate) const {
  if (candidate.leaf == preemptor_.leaf) return yields(candidate) || goes_by_priority(candidate);
  if (preemptor_.reclaim == Reclaim::kNone) return false;
  const Parting p = parting(candidate.leaf);
  if (outranks(p)) return true;
  if (is_outranked(p)) return false;
  if (lends_cores(candidate, p)) return true;
  return std::any_of(kModes.begin(), kModes.end(), [&](Reclaim mode) {
    return is_in_force(mode, preemptor_.reclaim, candidate) &&
           before_.could_stay_within(p.own, preemptor_.amounts, mode) &&
           before_.is_above(p.from, p.own, preemptor_.amounts, mode, &candidate.amounts);
  });
}

bool Permission::is_borrowed(const Candidate& candidate) {
  if (candidate.leaf == preemptor_.leaf) return true;
  const Parting p = parting(candidate.leaf);
  if (lends_cores(candidate, p)) return true;  // where nothing that it holds has a line it is covered and says nothing
  for (uint32_t q = candidate.leaf; q != p.at; q = tree_.qos(q).parent)
    if (covers_.guaranteed.is_covered(candidate.job, q)) return false;
  return true;
}

bool Permission::could_be_within(const Quotas& now, const Candidate& candidate) const {
  if (candidate.leaf == preemptor_.leaf) return true;
  const Parting p = parting(candidate.leaf);
  return outranks(p) || std::any_of(kModes.begin(), kModes.end(), [&](Reclaim mode) {
           return is_in_force(mode, preemptor_.reclaim, candidate) && now.stays_within(p.own, preemptor_.amounts, mode);
         });
}

bool Permission::leaves_enough(const std::vector<const Candidate*>& gone) {
  std::map<uint32_t, Quantities> taken;  // by QOS
  for (const Candidate* c : gone) {
    if (c->leaf == preemptor_.leaf) continue;
    const Parting p = parting(c->leaf);
    if (outranks(p)) continue;
    for (uint32_t q = c->leaf; q != p.at; q = tree_.qos(q).parent)
      add_to(taken.try_emplace(q, tree_.none()).first->second, c->amounts);
  }
  return std::all_of(taken.begin(), taken.end(), [&](const auto& each) {
    const auto& [q, amounts] = each;
    const Quantities& covered = covers_.guaranteed.covered(q);
    for (size_t r = 0; r < amounts.size(); ++r)
      if (amounts[r] > 0 && tree_.qos(q).has_line[r] && amounts[r] + covered[r] > before_.tally().counted[q][r])
        return false;
    return true;
  });
}

bool Permission::may_go_next(const Quotas& now, const Candidate& candidate, bool keeps_guarantees) const {
  if (candidate.leaf == preemptor_.leaf) return yields(candidate) || goes_by_priority(candidate);
  const Parting p = parting(candidate.leaf);
  if (outranks(p)) return true;
  if (!is_outranked(p) && lends_cores(candidate, p)) return true;
  if (keeps_guarantees && !now.leaves_guarantees(candidate.leaf, p.at, candidate.amounts)) return false;
  return std::any_of(kModes.begin(), kModes.end(), [&](Reclaim mode) {
    return is_in_force(mode, preemptor_.reclaim, candidate) && was_above(now, p, mode, candidate) &&
           now.is_beyond_due(p.from, p.own, preemptor_.amounts, mode, candidate.amounts, false);
  });
}

/// Before anybody was taken: who was above then may be brought down to what it is due, dead zone or not. What is due is
/// as it is now: the job that asks may not have waited before (sched/view/preemptors.h).
bool Permission::was_above(const Quotas& now, const Parting& p, Reclaim mode, const Candidate& candidate) const {
  return now.was_above(before_.tally(), p.from, p.own, preemptor_.amounts, mode, candidate.amounts);
}

bool Permission::allows(const Quotas& after, const std::vector<const Candidate*>& gone, const std::set<JobId>& with) {
  std::map<Parting, std::vector<const Candidate*>> groups;
  std::set<JobId> all = with;
  bool has_rivals = false;
  for (const Candidate* c : gone) {
    all.insert(c->job);
    if (c->leaf != preemptor_.leaf) {
      groups[parting(c->leaf)].push_back(c);
    } else if (yields(*c) || goes_by_priority(*c)) {
      has_rivals = true;
    } else {
      return false;
    }
  }
  if (has_rivals && !lines_.are_kept(after)) return false;
  return std::all_of(groups.begin(), groups.end(),
                     [&](const auto& group) { return allows(after, group.first, group.second, all); });
}

bool Permission::allows(const Quotas& after, const Parting& parting, const std::vector<const Candidate*>& gone,
                        const std::set<JobId>& all) {
  if (preemptor_.reclaim == Reclaim::kNone) return false;
  if (outranks(parting)) return true;
  if (is_outranked(parting)) return false;
  const auto keeps_fair = [&] { return !covers_.fair || covers_.fair->keeps_amounts(parting.from, all); };
  return (is_ground(Reclaim::kGuaranteed, after, parting, gone) ||
          (is_ground(Reclaim::kFairShare, after, parting, gone) && keeps_fair())) &&
         covers_.guaranteed.keeps_amounts(parting.from, all);
}

Grounds Permission::grounds(const Quotas& after, const std::vector<const Candidate*>& gone) const {
  if (preemptor_.reclaim == Reclaim::kNone) return {};
  const Parting p = parting(gone.front()->leaf);
  if (outranks(p)) return {true, false, false};
  if (is_outranked(p)) return {};
  return {false, is_ground(Reclaim::kGuaranteed, after, p, gone), is_ground(Reclaim::kFairShare, after, p, gone)};
}

/// A QOS that a borrower brought below its guarantee could take back, unless the only way to keep it is to leave it a
/// job that is larger than all that is due to it.
bool Permission::keeps_guarantees(const Quotas& after, const Parting& p,
                                  const std::vector<const Candidate*>& gone) const {
  return std::all_of(gone.begin(), gone.end(), [&](const Candidate* c) {
    if (!after.could_stay_within(p.from, c->amounts, Reclaim::kFairShare)) return true;
    for (uint32_t q = c->leaf; q != p.at; q = tree_.qos(q).parent)
      for (size_t r = 0; r < c->amounts.size(); ++r) {
        if (c->amounts[r] == 0 || !tree_.qos(q).has_line[r]) continue;
        const uint64_t had = before_.tally().counted[q][r], due = before_.shares().guaranteed[q][r];
        if (after.tally().counted[q][r] < std::min(had, due)) return false;
      }
    return true;
  });
}

/// Rule 5, by one of its two comparisons, labels aside.
bool Permission::is_ground(Reclaim mode, const Quotas& after, const Parting& p,
                           const std::vector<const Candidate*>& gone) const {
  const Quantities& amounts = preemptor_.amounts;
  const auto is_in = [&](const Candidate* c) { return is_in_force(mode, preemptor_.reclaim, *c); };
  if (!std::all_of(gone.begin(), gone.end(), is_in) || !after.stays_within(p.own, amounts, mode)) return false;
  const auto is_beyond = [&](const Candidate* c) {
    if (mode == Reclaim::kGuaranteed && lends_cores(*c, p)) return true;
    return was_above(after, p, mode, *c) && after.is_beyond_due(p.from, p.own, amounts, mode, c->amounts, true);
  };
  if (!std::all_of(gone.begin(), gone.end(), is_beyond)) return false;
  if (mode != Reclaim::kFairShare) return true;
  const Ratio own = after.dominant(p.own, amounts);
  const auto is_further = [&](const Candidate* last) { return own < after.dominant(p.from, last->amounts); };
  return std::any_of(gone.begin(), gone.end(), is_further) && keeps_guarantees(after, p, gone);
}

}  // namespace gw::sched
