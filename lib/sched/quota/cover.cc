// See cover.h.
#include "sched/quota/cover.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace gw::sched {

using base::JobId;

namespace {

auto rank(const CoverEntry& e) {
  return std::tuple(e.gang.value != 0, !e.is_never_preempted, -e.priority, e.started.us, e.job.value);
}

}  // namespace

Cover::Cover(const QuotaTree& tree, const std::vector<Quantities>& due)
    : tree_(tree), due_(&due), levels_(tree.nodes().size()) {
  for (Level& level : levels_) level.sum = tree.none();
}

void Cover::set_due(const std::vector<Quantities>& due) {
  std::vector<bool> is_other(levels_.size(), false);
  for (size_t q = levels_.size(); q-- > 0;) {  // a parent stands before its children
    const auto& children = tree_.qos(static_cast<uint32_t>(q)).children;
    is_other[q] = due[q] != (*due_)[q] ||
                  std::any_of(children.begin(), children.end(), [&](uint32_t child) { return is_other[child]; });
    if (is_other[q]) levels_[q].is_fresh = false;
  }
  due_ = &due;
}

void Cover::add(CoverEntry entry) {
  const JobId job = entry.job;
  const auto [it, is_new] = entries_.try_emplace(job);
  if (!is_new) return;
  Entry& added = it->second;
  added.job = std::move(entry);
  added.is_covered.resize(tree_.qos(added.job.leaf).depth + 1, false);
  for (uint32_t q = added.job.leaf; q != kNoQos; q = tree_.qos(q).parent) {
    Level& level = levels_[q];
    level.is_sorted &= level.order.empty() || rank(level.order.back()->job) < rank(added.job);
    level.is_fresh = false;
    level.order.push_back(&added);
  }
}

void Cover::remove(JobId job) {
  const auto it = entries_.find(job);
  if (it == entries_.end()) return;
  for (uint32_t q = it->second.job.leaf; q != kNoQos; q = tree_.qos(q).parent) {
    std::erase(levels_[q].order, &it->second);
    levels_[q].is_fresh = false;
  }
  entries_.erase(it);
}

bool Cover::is_covered(JobId job, uint32_t qos) {
  const auto it = entries_.find(job);
  if (it == entries_.end() || !stands_below(it->second, qos)) return false;
  (void)label(qos);
  return it->second.is_covered[tree_.qos(qos).depth];
}

const Quantities& Cover::covered(uint32_t qos) { return label(qos).sum; }

Cover::Level& Cover::label(uint32_t qos) {
  Level& level = levels_[qos];
  if (level.is_fresh) return level;
  for (uint32_t child : tree_.qos(qos).children) (void)label(child);
  if (!level.is_sorted) {
    std::sort(level.order.begin(), level.order.end(),
              [](const Entry* a, const Entry* b) { return rank(a->job) < rank(b->job); });
    level.is_sorted = true;
  }
  const uint32_t depth = tree_.qos(qos).depth;
  const auto is_covered_below = [depth](const Entry& e) {
    return depth + 1 < e.is_covered.size() && e.is_covered[depth + 1];
  };
  level.sum = go_through(
      qos, is_covered_below, [](const Entry&) { return false; },
      [depth](Entry& e, bool is_covered) { e.is_covered[depth] = is_covered; });
  level.is_fresh = true;
  level.is_counted = false;
  return level;
}

void Cover::count(uint32_t qos) {
  Level& level = label(qos);
  if (std::exchange(level.is_counted, true)) return;
  const uint32_t depth = tree_.qos(qos).depth;
  uint32_t behind = 0;
  for (Entry* e : level.order) {
    e->behind.resize(e->is_covered.size());
    e->behind[depth] = behind;
    if (!e->is_covered[depth]) ++behind;
  }
}

std::vector<uint32_t> Cover::standing(JobId job, uint32_t top) {
  std::vector<uint32_t> out;
  const auto it = entries_.find(job);
  if (it == entries_.end()) return out;
  bool is_anywhere = false;
  for (uint32_t q = it->second.job.leaf; q != tree_.qos(top).parent; q = tree_.qos(q).parent) {
    const bool is_here = is_covered(job, q);
    is_anywhere |= is_here;
    if (is_anywhere) count(q);
    out.push_back(is_anywhere ? 2 * it->second.behind[tree_.qos(q).depth] + (is_here ? 1 : 0) : kNowhere);
  }
  return out;
}

template <typename IsCoveredBelow, typename IsGone, typename Visit>
Quantities Cover::go_through(uint32_t qos, const IsCoveredBelow& is_covered_below, const IsGone& is_gone,
                             const Visit& visit) const {
  const std::vector<bool>& has_line = tree_.qos(qos).has_line;
  const Quantities& due = (*due_)[qos];
  Quantities sum = tree_.none();
  std::set<JobId> gangs;  // that are covered, where anybody has extensions: they come last
  const bool has_extensions = !levels_[qos].order.empty() && levels_[qos].order.back()->job.gang;
  const auto ask = [&](Entry& entry) {
    const CoverEntry& e = entry.job;
    bool fits = !e.gang || gangs.contains(e.gang);
    for (size_t r = 0; fits && r < due.size(); ++r)
      fits = !has_line[r] || e.amounts[r] == 0 || sum[r] + e.amounts[r] <= due[r];
    if (fits) add_to(sum, e.amounts);
    if (fits && has_extensions && !e.gang) gangs.insert(e.job);
    visit(entry, fits);
  };
  // In the order as it stands: those that are never preempted, the others, extensions; of each first who is covered
  // below.
  const std::vector<Entry*>& order = levels_[qos].order;
  for (auto first = order.begin(); first != order.end();) {
    const auto kind = [](const Entry* e) { return std::pair(e->job.gang.value != 0, e->job.is_never_preempted); };
    const auto last = std::find_if(first, order.end(), [&](const Entry* e) { return kind(e) != kind(*first); });
    for (const bool below : {true, false})
      for (auto it = first; it != last; ++it)
        if (is_covered_below(**it) == below && !is_gone(**it)) ask(**it);
    first = last;
  }
  return sum;
}

bool Cover::holds_any(uint32_t qos, const std::set<JobId>& gone) const {
  return std::any_of(gone.begin(), gone.end(), [&](JobId job) {
    const auto it = entries_.find(job);
    return it != entries_.end() && stands_below(it->second, qos);
  });
}

std::optional<Cover::Covered> Cover::label_without(uint32_t qos, const std::set<JobId>& gone, bool is_told) {
  const Quantities before = label(qos).sum;
  const uint32_t depth = tree_.qos(qos).depth;
  Covered below;
  std::set<uint32_t> changed;  // QOS right below, in which somebody is gone
  for (uint32_t child : tree_.qos(qos).children) {
    if (!holds_any(child, gone)) continue;
    const auto found = label_without(child, gone, true);
    if (!found) return std::nullopt;
    changed.insert(child);
    below.insert(found->begin(), found->end());
  }
  const auto is_covered_below = [&](const Entry& e) {
    if (depth + 1 >= e.is_covered.size()) return false;
    return changed.contains(tree_.towards(qos, e.job.leaf)) ? below.contains(&e) : bool{e.is_covered[depth + 1]};
  };
  Quantities taken = tree_.none();
  Covered covered;
  const Quantities after = go_through(
      qos, is_covered_below, [&](const Entry& e) { return gone.contains(e.job.job); },
      [&](Entry& e, bool is_covered) {
        if (is_covered && is_told) covered.insert(&e);
      });
  for (JobId job : gone)
    if (const auto it = entries_.find(job); it != entries_.end() && stands_below(it->second, qos))
      add_to(taken, it->second.job.amounts);
  for (size_t r = 0; r < taken.size(); ++r)
    if (taken[r] > 0 && tree_.qos(qos).has_line[r] && after[r] < before[r]) return std::nullopt;
  return covered;
}

bool Cover::keeps_amounts(uint32_t top, const std::set<JobId>& gone) {
  const bool has_covered = std::any_of(gone.begin(), gone.end(), [&](JobId job) {
    const auto it = entries_.find(job);
    if (it == entries_.end() || !stands_below(it->second, top)) return false;
    for (uint32_t q = it->second.job.leaf; q != tree_.qos(top).parent; q = tree_.qos(q).parent)
      if (is_covered(job, q)) return true;
    return false;
  });
  return !has_covered || label_without(top, gone, false).has_value();
}

}  // namespace gw::sched
