// See blockers.h.
#include "wire/blockers.h"

namespace gw::wire {

void set_blockers(BlockerMessages& to, const model::Blockers& blockers) {
  to.Clear();
  for (const model::Blocker& b : blockers) {
    Blocker& w = *to.Add();
    w.set_kind(static_cast<uint32_t>(b.kind));
    w.set_scope(static_cast<uint32_t>(b.scope));
    w.set_where(b.where);
    w.set_resource(b.resource);
    w.set_asked(b.asked);
    w.set_bound(b.bound);
    w.set_held(b.held);
    w.set_nodes(b.nodes);
    w.set_held_by(b.held_by);
    w.set_until_us(b.until.us);
  }
}

model::Blockers blockers_from(const BlockerMessages& from) {
  model::Blockers out;
  for (const Blocker& w : from) {
    model::Blocker& b = out.emplace_back();
    if (w.kind() <= static_cast<uint32_t>(model::kLastBlockerKind)) b.kind = static_cast<model::BlockerKind>(w.kind());
    if (w.scope() <= static_cast<uint32_t>(model::BlockerScope::kReservation))
      b.scope = static_cast<model::BlockerScope>(w.scope());
    b.where = w.where();
    b.resource = w.resource();
    b.asked = w.asked();
    b.bound = w.bound();
    b.held = w.held();
    b.nodes = w.nodes();
    b.held_by = w.held_by();
    b.until.us = w.until_us();
  }
  return out;
}

}  // namespace gw::wire
