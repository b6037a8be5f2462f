// See fair_queue.h.
#include "sched/quota/fair_queue.h"

#include <algorithm>
#include <utility>

namespace gw::sched {
namespace {

bool is_behind(const ClassHead& a, const ClassHead& b) { return b < a; }

}  // namespace

bool FairQueue::is_before(const Entry& a, const Entry& b) const {
  if (a.standing != b.standing) return a.standing < b.standing;
  if (a.priority != b.priority) return a.priority > b.priority;
  if (!(a.with == b.with)) return a.with < b.with;
  if (!(a.without == b.without)) return a.without < b.without;
  // All by one measure, so that nobody stands before and behind another.
  if (has_lines_ ? a.best.is_before_other_line(b.best) : a.best < b.best) return true;
  if (has_lines_ ? b.best.is_before_other_line(a.best) : b.best < a.best) return false;
  return a.qos < b.qos;
}

FairQueue::FairQueue(const Quotas& quotas, bool has_lines)
    : quotas_(quotas), has_lines_(has_lines), places_(quotas.tree().nodes().size()) {}

FairQueue::Heap* FairQueue::Place::first_line() {
  Heap* first = nullptr;
  for (Heap& line : lines)
    if (!line.empty() && (first == nullptr || line.front().is_before_other_line(first->front()))) first = &line;
  return first;
}

FairQueue::Heap& FairQueue::heap_of(const ClassHead& turn) {
  std::vector<Heap>& lines = places_[turn.leaf].lines;
  if (lines.size() <= turn.line) lines.resize(turn.line + 1);
  return lines[turn.line];
}

const ClassHead* FairQueue::best_at(uint32_t qos) {
  Place& place = places_[qos];
  if (const Heap* first = place.first_line()) return &first->front();
  return place.children.empty() ? nullptr : &places_[place.children.front()].own->best;
}

std::vector<uint32_t>::iterator FairQueue::place_of(std::vector<uint32_t>& children, const Entry& entry) {
  return std::lower_bound(children.begin(), children.end(), entry,
                          [this](uint32_t child, const Entry& e) { return is_before(*places_[child].own, e); });
}

/// Ranks a QOS anew in its parent's list. False: it stands there as before.
bool FairQueue::rank(uint32_t qos) {
  Place& place = places_[qos];
  std::vector<uint32_t>& siblings = places_[quotas_.tree().qos(qos).parent].children;
  const ClassHead* best = best_at(qos);
  std::optional<Entry> now;
  if (best != nullptr) {
    const QosNode& node = quotas_.tree().qos(qos);
    const Standing standing = quotas_.standing(qos, *best->amounts);
    const bool counts = standing == Standing::kGuaranteed && quotas_.shares().is_short[node.parent];
    now = Entry{
        standing, counts ? node.priority : 0, quotas_.dominant(qos, *best->amounts), quotas_.dominant(qos), *best, qos};
  }
  if (now.has_value() == place.own.has_value() && (!now || now->is_equal(*place.own, *this))) return false;
  if (place.own) {  // mostly it is the one whose turn it was
    const bool is_first = siblings.front() == qos;
    siblings.erase(is_first ? siblings.begin() : place_of(siblings, *place.own));
  }
  if (now) siblings.insert(place_of(siblings, *now), qos);
  place.own = now;
  return true;
}

/// The QOS, and so on upwards: what those above it hold has changed as well.
void FairQueue::refresh(uint32_t qos) {
  if (behind_ == qos) behind_.reset();
  for (; qos != 0; qos = quotas_.tree().qos(qos).parent) rank(qos);
}

void FairQueue::put(const ClassHead& turn) {
  Heap& turns = heap_of(turn);
  turns.push_back(turn);
  std::push_heap(turns.begin(), turns.end(), is_behind);
  if (behind_ == turn.leaf) behind_.reset();
  for (uint32_t qos = turn.leaf; qos != 0 && rank(qos);) qos = quotas_.tree().qos(qos).parent;
}

void FairQueue::fill(std::vector<ClassHead> turns) {
  std::sort(turns.begin(), turns.end());
  for (const ClassHead& turn : turns) heap_of(turn).push_back(turn);  // in order, they are a heap
  // Parents stand before their children.
  for (auto qos = static_cast<uint32_t>(places_.size()); --qos > 0;) rank(qos);
}

std::optional<ClassHead> FairQueue::pop() {
  if (behind_)
    for (uint32_t qos = *std::exchange(behind_, {}); qos != 0 && rank(qos);) qos = quotas_.tree().qos(qos).parent;
  uint32_t qos = 0;
  while (!places_[qos].children.empty()) qos = places_[qos].children.front();
  Heap* turns = places_[qos].first_line();
  if (turns == nullptr) return std::nullopt;
  std::pop_heap(turns->begin(), turns->end(), is_behind);
  const ClassHead turn = turns->back();
  turns->pop_back();
  behind_ = qos;
  return turn;
}

}  // namespace gw::sched
