// See turns.h.
#include "sched/turns.h"

#include <algorithm>
#include <utility>

namespace gw::sched {

bool Turns::Entry::operator<(const Entry& o) const {
  if (standing != o.standing) return standing < o.standing;
  if (!(with == o.with)) return with < o.with;
  if (!(without == o.without)) return without < o.without;
  if (best < o.best) return true;
  if (o.best < best) return false;
  return side < o.side;
}

Turns::Turns(const Quotas& quotas) : quotas_(quotas), lines_(quotas.tree().sides().size()) {}

const Turn* Turns::best_at(uint32_t side) const {
  const Line& line = lines_[side];
  if (!line.turns.empty()) return &*line.turns.begin();
  return line.entries.empty() ? nullptr : &line.entries.begin()->best;
}

/// Ranks a side anew in its parent's list. False: it stands there as before.
bool Turns::rank(uint32_t side) {
  Line& line = lines_[side];
  std::set<Entry>& siblings = lines_[quotas_.tree().side(side).parent].entries;
  const Turn* best = best_at(side);
  std::optional<Entry> now;
  if (best != nullptr)
    now = Entry{quotas_.standing(side, *best->amounts), quotas_.dominant(side, *best->amounts), quotas_.dominant(side),
                *best, side};
  if (now == line.own) return false;
  if (line.own) siblings.erase(*line.own);
  line.own = now;
  if (line.own) siblings.insert(*line.own);
  return true;
}

/// The side, and so on upwards: what those above it hold has changed as well.
void Turns::refresh(uint32_t side) {
  if (behind_ == side) behind_.reset();
  for (; side != 0; side = quotas_.tree().side(side).parent) rank(side);
}

void Turns::put(const Turn& turn) {
  lines_[turn.leaf].turns.insert(turn);
  if (behind_ == turn.leaf) behind_.reset();
  for (uint32_t side = turn.leaf; side != 0 && rank(side);) side = quotas_.tree().side(side).parent;
}

void Turns::fill(std::vector<Turn> turns) {
  std::sort(turns.begin(), turns.end());
  for (const Turn& turn : turns) lines_[turn.leaf].turns.insert(lines_[turn.leaf].turns.end(), turn);
  // Parents stand before their children.
  for (auto side = static_cast<uint32_t>(lines_.size()); --side > 0;) rank(side);
}

std::optional<Turn> Turns::pop() {
  if (behind_)
    for (uint32_t side = *std::exchange(behind_, {}); side != 0 && rank(side);) side = quotas_.tree().side(side).parent;
  uint32_t side = 0;
  while (!lines_[side].entries.empty()) side = lines_[side].entries.begin()->side;
  std::set<Turn>& turns = lines_[side].turns;
  if (turns.empty()) return std::nullopt;
  const Turn turn = *turns.begin();
  turns.erase(turns.begin());
  behind_ = side;
  return turn;
}

}  // namespace gw::sched
