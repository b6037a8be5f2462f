// See victims.h.
#include "sched/victims.h"

#include <algorithm>
#include <utility>

namespace gw::sched {
namespace {

/// The taker's own side stays within its fair share, but not within its guarantee.
bool is_to_borrow(const Permit& permit) { return permit.rule == 5 && permit.by == Reclaim::kFairShare; }

}  // namespace

Victims::Victims(Quotas trial, const Taker& taker, const Candidates& candidates, bool keeps_guarantees,
                 std::function<bool(const Candidate&)> is_of_use)
    : trial_(std::move(trial)),
      taker_(taker),
      candidates_(candidates),
      keeps_guarantees_(keeps_guarantees),
      is_of_use_(std::move(is_of_use)),
      next_(candidates.size(), 0) {
  only_pieces_ = std::any_of(candidates.begin(), candidates.end(),
                             [](const auto& list) { return !list.empty() && list.front().gang; });
}

/// Is the taker at the side, or below it?
bool Victims::is_own(uint32_t side) const { return trial_.tree().common(side, taker_.leaf) == side; }

std::optional<JobId> Victims::next() {
  const Candidate* victim = pick(0, std::nullopt);
  if (victim == nullptr && std::exchange(only_pieces_, false)) victim = pick(0, std::nullopt);
  if (victim == nullptr) return std::nullopt;
  return victim->job;
}

bool Victims::may_go_first(uint32_t leaf, const Candidate& candidate) {
  if (leaf == taker_.leaf) return taker_.preempts && candidate.priority < taker_.priority;
  const uint32_t above = trial_.tree().common(leaf, taker_.leaf);
  const auto permit = trial_.may_take(taker_.leaf, taker_.amounts, trial_.tree().towards(above, leaf), taker_.reclaim);
  return permit && !spares(leaf, candidate, Parting{above, *permit});
}

/// Nobody loses what it is guaranteed to somebody who is borrowing, and in round one to nobody.
bool Victims::spares(uint32_t leaf, const Candidate& candidate, const Parting& parting) {
  if (trial_.leaves_guarantees(leaf, parting.at, candidate.amounts)) return false;
  if (keeps_guarantees_) return has_spared_ = true;
  return is_to_borrow(parting.permit);
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
    if (!parting && c.priority >= taker_.priority) {  // rule 7, and so with all behind it
      if (!c.gang) return nullptr;
      is_prefix = false;
      continue;
    }
    const bool is_spared = parting && !gone_.contains(c.job) && spares(leaf, c, *parting);
    if (is_spared || gone_.contains(c.job) || !is_of_use_(c)) {
      is_prefix &= !is_spared;
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
  if (tree.side(side).children.empty()) return parting || taker_.preempts ? pick_at_leaf(side, parting) : nullptr;
  std::vector<std::pair<Ratio, uint32_t>> ranked;
  for (uint32_t child : tree.side(side).children) ranked.emplace_back(trial_.dominant(child), child);
  std::stable_sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) { return b.first < a.first; });
  for (const auto& [ratio, child] : ranked) {
    std::optional<Parting> parted = parting;
    if (!parted && !is_own(child)) {
      const auto permit = trial_.may_take(taker_.leaf, taker_.amounts, child, taker_.reclaim);
      if (!permit) continue;
      parted = Parting{side, *permit};
    }
    if (const Candidate* found = pick(child, parted)) return found;
  }
  return nullptr;
}

bool are_allowed(Quotas trial, const Taker& taker, const std::vector<Taken>& victims) {
  const QuotaTree& tree = trial.tree();
  for (const Taken& v : victims) {
    if (v.leaf != taker.leaf) {
      const uint32_t above = tree.common(v.leaf, taker.leaf);
      const auto permit = trial.may_take(taker.leaf, taker.amounts, tree.towards(above, v.leaf), taker.reclaim);
      if (!permit || (is_to_borrow(*permit) && !trial.leaves_guarantees(v.leaf, above, v.amounts))) return false;
    }
    trial.stop(v.leaf, v.amounts, true);
  }
  return true;
}

}  // namespace gw::sched
