// See turns.h.
#include "sched/turns.h"

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

/// Ranks the side anew in its parent's list, and so on upwards.
void Turns::refresh(uint32_t side) {
  for (; side != 0; side = quotas_.tree().side(side).parent) {
    Line& line = lines_[side];
    std::set<Entry>& siblings = lines_[quotas_.tree().side(side).parent].entries;
    if (line.own) siblings.erase(*line.own);
    line.own.reset();
    const Turn* best = best_at(side);
    if (best == nullptr) continue;
    line.own = Entry{quotas_.standing(side, *best->amounts), quotas_.dominant(side, *best->amounts),
                     quotas_.dominant(side), *best, side};
    siblings.insert(*line.own);
  }
}

void Turns::put(const Turn& turn) {
  lines_[turn.leaf].turns.insert(turn);
  refresh(turn.leaf);
}

std::optional<Turn> Turns::pop() {
  uint32_t side = 0;
  while (!lines_[side].entries.empty()) side = lines_[side].entries.begin()->side;
  std::set<Turn>& turns = lines_[side].turns;
  if (turns.empty()) return std::nullopt;
  const Turn turn = *turns.begin();
  turns.erase(turns.begin());
  refresh(side);
  return turn;
}

}  // namespace gw::sched
