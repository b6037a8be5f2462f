// See victims.h.
#include "sched/quota/victims.h"

#include <algorithm>
#include <utility>

namespace gw::sched {
namespace {

/// The preemptor's own QOS stays within its fair share, but not within its guarantee.
bool is_to_borrow(const Permit& permit) { return permit.rule == 5 && permit.by == Reclaim::kFairShare; }

}  // namespace

Victims::Victims(Quotas trial, const Preemptor& preemptor, const Candidates& candidates, bool keeps_guarantees,
                 std::function<bool(const Candidate&)> is_of_use)
    : trial_(std::move(trial)),
      preemptor_(preemptor),
      candidates_(candidates),
      keeps_guarantees_(keeps_guarantees),
      is_of_use_(std::move(is_of_use)),
      next_(candidates.size(), 0),
      by_priority_(preemptor.preempts) {
  only_pieces_ = std::any_of(candidates.begin(), candidates.end(),
                             [](const auto& list) { return !list.empty() && list.front().gang; });
}

/// Is the preemptor at the QOS, or below it?
bool Victims::is_own(uint32_t side) const { return trial_.tree().common(side, preemptor_.leaf) == side; }

std::optional<JobId> Victims::next() {
  const Candidate* victim = pick(0, std::nullopt);
  if (victim == nullptr && std::exchange(only_pieces_, false)) victim = pick(0, std::nullopt);
  if (victim == nullptr) return std::nullopt;
  seen_.has_found = true;
  return victim->job;
}

bool Victims::may_go_first(uint32_t leaf, const Candidate& candidate) {
  if (leaf == preemptor_.leaf) return by_priority_ && candidate.priority < preemptor_.priority;
  const uint32_t above = trial_.tree().common(leaf, preemptor_.leaf);
  return may_take(leaf, candidate, Parting{above, trial_.tree().towards(above, leaf)});
}

/// Nobody loses what it is guaranteed to somebody who is borrowing, and in round one to nobody.
bool Victims::may_take(uint32_t leaf, const Candidate& candidate, const Parting& parting) {
  const auto permit =
      trial_.may_take(preemptor_.leaf, preemptor_.amounts, parting.from, preemptor_.reclaim, &candidate.amounts);
  if (!permit) return false;
  if (trial_.leaves_guarantees(leaf, parting.at, candidate.amounts)) return true;
  if (keeps_guarantees_) seen_.has_spared = true;
  return !keeps_guarantees_ && !is_to_borrow(*permit);
}

/// Does it hold anything that its QOS could be above in, or does that not matter?
bool Victims::could_ever_take(const Candidate& candidate, const Parting& parting) const {
  const QuotaTree& tree = trial_.tree();
  const uint32_t own = tree.towards(parting.at, preemptor_.leaf);
  if (tree.qos(parting.at).preempt_children && tree.qos(own).is_own) return true;
  for (size_t r = 0; r < tree.width(); ++r) {
    const bool is_measured = tree.qos(own).has_line[r] && tree.qos(parting.from).has_line[r];
    if (is_measured && preemptor_.amounts[r] > 0 && candidate.amounts[r] > 0) return true;
  }
  return false;
}

/// A gang goes with all that is left of it.
void Victims::take_pieces(uint32_t leaf, const Candidate& gang) {
  for (const Candidate& c : candidates_[leaf]) {
    if (!c.gang) return;  // pieces come first
    if (c.gang == gang.job && gone_.insert(c.job).second) trial_.stop(leaf, c.amounts, true);
  }
}

const Candidate* Victims::pick_at_leaf(uint32_t leaf, const std::optional<Parting>& parting) {
  const std::vector<Candidate>& list = candidates_[leaf];
  bool is_prefix = true;  // everybody before was dealt with
  for (size_t i = next_[leaf]; i < list.size(); ++i) {
    const Candidate& c = list[i];
    if (only_pieces_ && !c.gang) return nullptr;
    if (!parting && c.priority >= preemptor_.priority) {  // rule 7, and so with all behind it
      if (!c.gang) return nullptr;
      is_prefix = false;
      continue;
    }
    const bool may_stay = parting && !gone_.contains(c.job) && !may_take(leaf, c, *parting);
    if (may_stay || gone_.contains(c.job) || !is_of_use_(c)) {
      is_prefix &= !may_stay || !could_ever_take(c, *parting);  // who may go later is asked again
      if (is_prefix) next_[leaf] = i + 1;
      continue;
    }
    if (is_prefix) next_[leaf] = i + 1;
    gone_.insert(c.job);
    trial_.stop(leaf, c.amounts, true);
    if (!c.gang) take_pieces(leaf, c);
    return &c;
  }
  return nullptr;
}

const Candidate* Victims::pick(uint32_t side, const std::optional<Parting>& parting) {
  const QuotaTree& tree = trial_.tree();
  if (tree.qos(side).children.empty()) return parting || by_priority_ ? pick_at_leaf(side, parting) : nullptr;
  std::vector<std::pair<Ratio, uint32_t>> ranked;
  for (uint32_t child : tree.qos(side).children) ranked.emplace_back(trial_.dominant(child), child);
  std::stable_sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) { return b.first < a.first; });
  for (const auto& [ratio, child] : ranked) {
    std::optional<Parting> parted = parting;
    if (!parted && !is_own(child)) {
      if (!trial_.may_take(preemptor_.leaf, preemptor_.amounts, child, preemptor_.reclaim)) continue;
      parted = Parting{side, child};
    }
    if (const Candidate* found = pick(child, parted)) return found;
  }
  return nullptr;
}

Lines::Lines(const Quotas& before, const Preemptor& preemptor) {
  const QuotaTree& tree = before.tree();
  for (uint32_t s = preemptor.leaf; s != 0 && s != kNoQos; s = tree.qos(s).parent) {
    const QosNode& side = tree.qos(s);
    if (side.is_own && tree.qos(side.parent).preempt_children) continue;  // nobody beside it takes from it
    for (size_t r = 0; r < tree.width(); ++r) {
      if (preemptor.amounts[r] == 0 || !side.has_line[r]) continue;
      const uint64_t has = before.tally().counted[s][r];
      const uint64_t guaranteed = before.shares().guaranteed[s][r], fair = before.shares().fair[s][r];
      if (preemptor.reclaim != Reclaim::kNone && has <= guaranteed)
        lines_.push_back({s, r, preemptor.amounts[r], guaranteed});
      if (preemptor.reclaim == Reclaim::kFairShare && has <= fair) lines_.push_back({s, r, preemptor.amounts[r], fair});
    }
  }
}

bool Lines::are_kept(const Quotas& now) const {
  return std::all_of(lines_.begin(), lines_.end(), [&](const Line& line) {
    return now.tally().counted[line.side][line.resource] + line.asked <= line.most;
  });
}

bool are_allowed(Quotas trial, const Preemptor& preemptor, const std::vector<Taken>& victims) {
  const QuotaTree& tree = trial.tree();
  for (const Taken& v : victims) {
    if (v.leaf != preemptor.leaf) {
      const uint32_t above = tree.common(v.leaf, preemptor.leaf);
      const uint32_t from = tree.towards(above, v.leaf);
      const auto permit = trial.may_take(preemptor.leaf, preemptor.amounts, from, preemptor.reclaim, &v.amounts);
      if (!permit || (is_to_borrow(*permit) && !trial.leaves_guarantees(v.leaf, above, v.amounts))) return false;
    }
    trial.stop(v.leaf, v.amounts, true);
  }
  return true;
}

}  // namespace gw::sched
