// The future of every node: what is held until when (by running jobs, from the ledger) and what is kept from when
// to when (bookings: planned starts of blocked jobs, reservations), down to the single GPU, core and byte.
// Invariants: bookings of one node may overlap in time only if they hold different resources, or if one of them is an
// advance reservation that the other runs inside.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "base/time.h"
#include "sched/ledger/capacity.h"

namespace gw::sched {

/// [from, to); `to` may be Time::never().
struct Span {
  base::Time from;
  base::Time to;
  bool overlaps(const Span& o) const { return from < o.to && o.from < to; }
};

/// Resources of one node kept for a span.
struct Booking {
  Span span;
  JobId job;                ///< The blocked job; none for an advance reservation.
  std::string reservation;  ///< The advance reservation, or the one that the job runs inside.
  base::IndexSet cores;
  base::IndexSet gpus;
  uint32_t gpu_milli = model::kWholeGpu;  ///< All of it, too, of a job that shares its GPU with nobody.
  uint64_t mem_mb = 0;
  bool whole = false;  ///< The node as it is, whoever is on it: an advance reservation.
  model::Gres gres = {};
};

class Timeline {
 public:
  void add(NodeId node, Booking booking);
  /// Null: nothing is booked there.
  const std::vector<Booking>* on(NodeId node) const;
  const std::unordered_map<NodeId, std::vector<Booking>>& all() const { return bookings_; }
  bool empty() const { return bookings_.empty(); }
  /// Anything booked on the node in that span, for others than those inside `reservation`?
  bool is_booked(NodeId node, const Span& span, const std::string& reservation) const;
  /// What is free on the node throughout the span, for a job inside `reservation` (empty: outside all). Jobs that
  /// outstay their end count as gone a moment after span.from only if span.from lies after that end.
  FreeResources free_during(const NodeAccount& account, const Span& span, const std::string& reservation) const;
  /// Moments after `now` at which something on the node becomes free.
  void collect_ends(const NodeAccount& account, base::Time now, std::vector<base::Time>& out) const;
  /// First moment after span.from at which a booking for others begins on the node; span.to if none does before.
  base::Time next_booking(NodeId node, const Span& span, const std::string& reservation) const;

 private:
  std::unordered_map<NodeId, std::vector<Booking>> bookings_;
  std::vector<bool> has_;  // by node id
};

}  // namespace gw::sched
