// See fair_queue.h.
#include "sched/quota/fair_queue.h"

#include <algorithm>
#include <utility>

namespace gw::sched {

bool FairQueue::Entry::operator<(const Entry& o) const {
  if (standing != o.standing) return standing < o.standing;
  if (priority != o.priority) return priority > o.priority;
  if (!(with == o.with)) return with < o.with;
  if (!(without == o.without)) return without < o.without;
  if (best < o.best) return true;
  if (o.best < best) return false;
  return side < o.side;
}

FairQueue::FairQueue(const Quotas& quotas) : quotas_(quotas), lines_(quotas.tree().nodes().size()) {}

const ClassHead* FairQueue::best_at(uint32_t side) const {
  const Line& line = lines_[side];
  if (!line.turns.empty()) return &*line.turns.begin();
  return line.entries.empty() ? nullptr : &line.entries.begin()->best;
}

/// Ranks a QOS anew in its parent's list. False: it stands there as before.
bool FairQueue::rank(uint32_t side) {
  Line& line = lines_[side];
  std::set<Entry>& siblings = lines_[quotas_.tree().qos(side).parent].entries;
  const ClassHead* best = best_at(side);
  std::optional<Entry> now;
  if (best != nullptr) {
    const QosNode& qos = quotas_.tree().qos(side);
    const Standing standing = quotas_.standing(side, *best->amounts);
    const bool counts = standing == Standing::kGuaranteed && quotas_.shares().is_short[qos.parent];
    now = Entry{
        standing, counts ? qos.priority : 0, quotas_.dominant(side, *best->amounts), quotas_.dominant(side), *best,
        side};
  }
  if (now == line.own) return false;
  if (line.own) siblings.erase(*line.own);
  line.own = now;
  if (line.own) siblings.insert(*line.own);
  return true;
}

/// The QOS, and so on upwards: what those above it hold has changed as well.
void FairQueue::refresh(uint32_t side) {
  if (behind_ == side) behind_.reset();
  for (; side != 0; side = quotas_.tree().qos(side).parent) rank(side);
}

void FairQueue::put(const ClassHead& turn) {
  lines_[turn.leaf].turns.insert(turn);
  if (behind_ == turn.leaf) behind_.reset();
  for (uint32_t side = turn.leaf; side != 0 && rank(side);) side = quotas_.tree().qos(side).parent;
}

void FairQueue::fill(std::vector<ClassHead> turns) {
  std::sort(turns.begin(), turns.end());
  for (const ClassHead& turn : turns) lines_[turn.leaf].turns.insert(lines_[turn.leaf].turns.end(), turn);
  // Parents stand before their children.
  for (auto side = static_cast<uint32_t>(lines_.size()); --side > 0;) rank(side);
}

std::optional<ClassHead> FairQueue::pop() {
  if (behind_)
    for (uint32_t side = *std::exchange(behind_, {}); side != 0 && rank(side);) side = quotas_.tree().qos(side).parent;
  uint32_t side = 0;
  while (!lines_[side].entries.empty()) side = lines_[side].entries.begin()->side;
  std::set<ClassHead>& turns = lines_[side].turns;
  if (turns.empty()) return std::nullopt;
  const ClassHead turn = *turns.begin();
  turns.erase(turns.begin());
  behind_ = side;
  return turn;
}

}  // namespace gw::sched
