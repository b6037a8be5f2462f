// See fair_queue.h.
#include "sched/quota/fair_queue.h"

#include <algorithm>
#include <utility>

namespace gw::sched {
namespace {

bool is_behind(const ClassHead& a, const ClassHead& b) { return b < a; }

}  // namespace

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
  if (!line.turns.empty()) return &line.turns.front();
  return line.children.empty() ? nullptr : &lines_[line.children.front()].own->best;
}

std::vector<uint32_t>::iterator FairQueue::place_of(std::vector<uint32_t>& children, const Entry& entry) {
  return std::lower_bound(children.begin(), children.end(), entry,
                          [this](uint32_t child, const Entry& e) { return *lines_[child].own < e; });
}

/// Ranks a QOS anew in its parent's list. False: it stands there as before.
bool FairQueue::rank(uint32_t qos) {
  Line& line = lines_[qos];
  std::vector<uint32_t>& siblings = lines_[quotas_.tree().qos(qos).parent].children;
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
  if (line.own) {  // mostly it is the one whose turn it was
    const bool is_first = siblings.front() == qos;
    siblings.erase(is_first ? siblings.begin() : place_of(siblings, *line.own));
  }
  if (now) siblings.insert(place_of(siblings, *now), qos);
  line.own = now;
  return true;
}

/// The QOS, and so on upwards: what those above it hold has changed as well.
void FairQueue::refresh(uint32_t qos) {
  if (behind_ == qos) behind_.reset();
  for (; qos != 0; qos = quotas_.tree().qos(qos).parent) rank(qos);
}

void FairQueue::put(const ClassHead& turn) {
  std::vector<ClassHead>& turns = lines_[turn.leaf].turns;
  turns.push_back(turn);
  std::push_heap(turns.begin(), turns.end(), is_behind);
  if (behind_ == turn.leaf) behind_.reset();
  for (uint32_t qos = turn.leaf; qos != 0 && rank(qos);) qos = quotas_.tree().qos(qos).parent;
}

void FairQueue::fill(std::vector<ClassHead> turns) {
  std::sort(turns.begin(), turns.end());
  for (const ClassHead& turn : turns) lines_[turn.leaf].turns.push_back(turn);  // in order, they are a heap
  // Parents stand before their children.
  for (auto qos = static_cast<uint32_t>(lines_.size()); --qos > 0;) rank(qos);
}

std::optional<ClassHead> FairQueue::pop() {
  if (behind_)
    for (uint32_t qos = *std::exchange(behind_, {}); qos != 0 && rank(qos);) qos = quotas_.tree().qos(qos).parent;
  uint32_t qos = 0;
  while (!lines_[qos].children.empty()) qos = lines_[qos].children.front();
  std::vector<ClassHead>& turns = lines_[qos].turns;
  if (turns.empty()) return std::nullopt;
  std::pop_heap(turns.begin(), turns.end(), is_behind);
  const ClassHead turn = turns.back();
  turns.pop_back();
  behind_ = qos;
  return turn;
}

}  // namespace gw::sched
