// What advance reservations allow. See plan.h.
#include <algorithm>

#include "sched/cycle/plan.h"

namespace gw::sched {

std::optional<model::Blocker> why_closed(const AdvanceReservations& reservations, const PendingJob& job, Time now,
                                         Duration length) {
  using model::BlockerKind;
  const auto closed = [&job](BlockerKind kind, Time until = {}, Duration asked = {}) {
    return model::Blocker{.kind = kind,
                          .scope = model::BlockerScope::kReservation,
                          .where = job.reservation,
                          .asked = asked == base::kUnlimited ? UINT64_MAX : static_cast<uint64_t>(asked.seconds()),
                          .until = until};
  };
  const auto it = reservations.find(job.reservation);
  if (it == reservations.end()) return closed(BlockerKind::kReservationGone);
  const AdvanceReservation& r = it->second;
  if (r.maintenance) return closed(BlockerKind::kReservationMaintenance);
  if (!r.users.contains(job.uid)) return closed(BlockerKind::kReservationUsers);
  const model::Occurrence o = r.at(now);
  if (o.to <= now) return closed(BlockerKind::kReservationEnded);
  if (now < o.from) return closed(BlockerKind::kReservationBegins, o.from);
  if (o.to != Time::never() && now + length > o.to + kReservationSlack)
    return closed(BlockerKind::kReservationEnds, o.to, length);
  return std::nullopt;
}

void add_reservations(const AdvanceReservations& reservations, const Capacity& capacity, Time now, Timeline& timeline) {
  // What lies further ahead comes into sight as time passes; a job that runs longer than from one occurrence to the
  // next is in the way of the next one anyhow.
  constexpr int kAhead = 3;
  for (const auto& [name, r] : reservations) {
    model::Occurrence o = r.at(now);
    if (o.to <= now) continue;
    for (int k = 0; k < (r.every.us > 0 ? kAhead : 1); ++k) {
      for (const std::string& node : r.nodes) {
        const NodeId id = capacity.id_of(node);
        if (!id) continue;
        Booking b;
        b.span = {o.from, o.to};
        b.reservation = name;
        b.whole = true;
        timeline.add(id, std::move(b));
      }
      o = {o.from + r.every, o.to + r.every};
    }
  }
}

base::Status check_reservations(const AdvanceReservations& reservations, const PendingJob& job, const Start& start,
                                Time now) {
  const Duration length = std::min(job.time_limit, start.time_limit);
  const model::Occurrence run{now, std::max(now + base::microseconds(1), now + length - kReservationSlack)};
  if (!job.reservation.empty())
    if (const auto why = why_closed(reservations, job, now, length))
      return base::fail(base::ErrorCode::kConflict, model::words({*why}));
  for (const auto& [name, r] : reservations) {
    const bool is_inside = name == job.reservation;
    if (!is_inside && !r.at(now).overlaps(run)) continue;
    for (const model::NodeShare& share : start.allocation.shares) {
      const bool is_kept = std::find(r.nodes.begin(), r.nodes.end(), share.name) != r.nodes.end();
      if (is_kept != is_inside)
        return base::fail(base::ErrorCode::kConflict, is_inside
                                                          ? "node " + share.name + " is outside reservation " + name
                                                          : "node " + share.name + " is kept by reservation " + name);
    }
  }
  return {};
}

}  // namespace gw::sched
