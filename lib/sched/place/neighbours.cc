// Windows that slide over runs of neighbours. See neighbours.h.
#include "sched/place/neighbours.h"

#include <algorithm>
#include <tuple>

#include "sched/ledger/node_index.h"

namespace gw::sched {

Neighbours::Neighbours(const std::vector<FeasibleGroup>& groups, const NodeIndex& index, const Needs& needs)
    : needs_(needs) {
  for (const FeasibleGroup& group : groups)
    for (uint32_t p = group.next(0); p != UINT32_MAX; p = group.next(p + 1)) there_.push_back({&group, p});
  std::sort(there_.begin(), there_.end(), [](const Pick& a, const Pick& b) { return a.position < b.position; });
  leaves_.resize(there_.size(), 0);
  for (size_t i = 1; i < there_.size(); ++i) {
    const uint32_t leaf = index.leaf(there_[i].position);
    leaves_[i] = leaves_[i - 1] + (leaf == UINT32_MAX || leaf != index.leaf(there_[i - 1].position));
  }
}

bool Neighbours::holds(const Sums& sums) const {
  return sums.required == needs_.required && sums.tasks >= needs_.tasks && sums.gpus >= needs_.gpus;
}

bool Neighbours::is_behind_few(size_t first, size_t last) const {
  return needs_.leaves == 0 || leaves_[last] - leaves_[first] < needs_.leaves;
}

void Neighbours::each_run(const Range& range, const std::function<void(Run)>& visit) const {
  const auto is_before = [](const Pick& p, uint32_t position) { return p.position < position; };
  const auto first = std::lower_bound(there_.begin(), there_.end(), range.first, is_before);
  const auto last = std::lower_bound(first, there_.end(), range.last, is_before);
  const auto end = static_cast<size_t>(last - there_.begin());
  for (size_t from = static_cast<size_t>(first - there_.begin()), to = from; from < end; from = to) {
    for (to = from + 1; to < end && there_[to].position == there_[to - 1].position + 1;) ++to;
    visit({from, to});
  }
}

void Neighbours::each_allowed(const std::vector<Range>& ranges, const std::function<void(Run)>& visit) const {
  for (const Range& range : ranges)
    each_run(range, [&](Run run) {
      size_t from = run.from;
      for (size_t to = from + 1; to <= run.to; ++to) {
        if (to < run.to && is_behind_few(from, to)) continue;
        visit({from, to});
        while (to < run.to && !is_behind_few(from, to)) ++from;
      }
    });
}

bool Neighbours::holds_somewhere(Run run, uint32_t nodes) const {
  Sums sums;
  for (size_t i = run.from; i < run.to; ++i) {
    sums.add(there_[i]);
    if (i - run.from >= nodes) sums.take(there_[i - nodes]);
    if (i - run.from + 1 >= nodes && holds(sums)) return true;
  }
  return false;
}

// Where so many hold it nowhere in a run, fewer do not either: each fewer are among so many.
uint32_t Neighbours::most_nodes(const std::vector<Range>& ranges, uint32_t least, uint32_t most) const {
  uint32_t best = 0;
  each_allowed(ranges, [&](Run run) {
    const auto nodes = static_cast<uint32_t>(std::min<size_t>(most, run.to - run.from));
    if (nodes >= std::max(least, 1U) && nodes > best && holds_somewhere(run, nodes)) best = nodes;
  });
  return best;
}

uint32_t Neighbours::fewest_nodes(const std::vector<Range>& ranges, uint32_t least, uint32_t most) const {
  uint32_t best = UINT32_MAX;
  each_allowed(ranges, [&](Run run) {
    Sums sums;
    for (size_t first = run.from, i = run.from; i < run.to; ++i) {
      for (sums.add(there_[i]); i - first + 1 > std::max(least, 1U); ++first) {
        Sums without = sums;
        without.take(there_[first]);
        if (!holds(without)) break;
        sums = without;
      }
      const size_t nodes = i - first + 1;
      if (nodes >= least && nodes < best && holds(sums)) best = static_cast<uint32_t>(nodes);
    }
  });
  return best <= most ? best : 0;
}

std::optional<std::vector<Pick>> Neighbours::pick(const Range& range, uint32_t nodes) const {
  if (nodes == 0) return std::nullopt;
  std::optional<std::tuple<uint64_t, size_t>> best;  // weight, length of the run
  size_t at = 0;
  each_run(range, [&](Run run) {
    Sums sums;
    for (size_t i = run.from; i < run.to; ++i) {
      sums.add(there_[i]);
      if (i - run.from >= nodes) sums.take(there_[i - nodes]);
      if (i - run.from + 1 < nodes || !holds(sums) || !is_behind_few(i + 1 - nodes, i)) continue;
      const std::tuple merit(sums.weight, run.to - run.from);
      if (best && merit >= *best) continue;
      best = merit;
      at = i + 1 - nodes;
    }
  });
  if (!best) return std::nullopt;
  const auto first = there_.begin() + static_cast<ptrdiff_t>(at);
  return std::vector<Pick>(first, first + nodes);
}

uint32_t Neighbours::lonely(uint32_t nodes) const {
  size_t count = 0;
  each_run({}, [&](Run run) { count += run.to - run.from < nodes ? run.to - run.from : 0; });
  return static_cast<uint32_t>(count);
}

}  // namespace gw::sched
