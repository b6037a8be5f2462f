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
  return qos < o.qos;
}

FairQueue::FairQueue(const Quotas& quotas) : quotas_(quotas), lines_(quotas.tree().nodes().size()) {}

const ClassHead* FairQueue::best_at(uint32_t qos) const {
  const Line& line = lines_[qos];
  if (!line.turns.empty()) return &*line.turns.begin();
  return line.entries.empty() ? nullptr : &line.entries.begin()->best;
}

/// Ranks a QOS anew in its parent's list. False: it stands there as before.
bool FairQueue::rank(uint32_t qos) {
  Line& line = lines_[qos];
  std::set<Entry>& siblings = lines_[quotas_.tree().qos(qos).parent].entries;
  const ClassHead* best = best_at(qos);
  std::optional<Entry> now;
  if (best != nullptr) {
    const QosNode& node = quotas_.tree().qos(qos);
    const Standing standing = quotas_.standing(qos, *best->amounts);
    const bool counts = standing == Standing::kGuaranteed && quotas_.shares().is_short[node.parent];
    now = Entry{
        standing, counts ? node.priority : 0, quotas_.dominant(qos, *best->amounts), quotas_.dominant(qos), *best, qos};
  }
  if (now == line.own) return false;
  if (line.own) siblings.erase(*line.own);
  line.own = now;
  if (line.own) siblings.insert(*line.own);
  return true;
}

/// The QOS, and so on upwards: what those above it hold has changed as well.
void FairQueue::refresh(uint32_t qos) {
  if (behind_ == qos) behind_.reset();
  for (; qos != 0; qos = quotas_.tree().qos(qos).parent) rank(qos);
}

void FairQueue::put(const ClassHead& turn) {
  lines_[turn.leaf].turns.insert(turn);
  if (behind_ == turn.leaf) behind_.reset();
  for (uint32_t qos = turn.leaf; qos != 0 && rank(qos);) qos = quotas_.tree().qos(qos).parent;
}

void FairQueue::fill(std::vector<ClassHead> turns) {
  std::sort(turns.begin(), turns.end());
  for (const ClassHead& turn : turns) lines_[turn.leaf].turns.insert(lines_[turn.leaf].turns.end(), turn);
  // Parents stand before their children.
  for (auto qos = static_cast<uint32_t>(lines_.size()); --qos > 0;) rank(qos);
}

std::optional<ClassHead> FairQueue::pop() {
  if (behind_)
    for (uint32_t qos = *std::exchange(behind_, {}); qos != 0 && rank(qos);) qos = quotas_.tree().qos(qos).parent;
  uint32_t qos = 0;
  while (!lines_[qos].entries.empty()) qos = lines_[qos].entries.begin()->qos;
  std::set<ClassHead>& turns = lines_[qos].turns;
  if (turns.empty()) return std::nullopt;
  const ClassHead turn = *turns.begin();
  turns.erase(turns.begin());
  behind_ = qos;
  return turn;
}

}  // namespace gw::sched
