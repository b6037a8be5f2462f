// Advance reservations: whole nodes kept for some users, or for maintenance, from a time on, once or again and again.
// Invariant: occurrence k lies `every` after occurrence k-1, and they do not overlap.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace gw::model {

/// [from, to); `to` may be Time::never().
struct Occurrence {
  base::Time from;
  base::Time to;
  bool overlaps(const Occurrence& o) const { return from < o.to && o.from < to; }
  bool operator==(const Occurrence&) const = default;
};

/// The occurrence that `now` lies in, or the next one; for a reservation that does not repeat always the only one.
/// `every` zero: it does not repeat.
Occurrence occurrence_at(base::Time start, base::Duration length, base::Duration every, base::Time now);

struct Reservation {
  std::string name;
  std::vector<std::string> nodes;
  uint32_t node_count = 0;  ///< As asked; 0: the nodes were named.
  std::string partition;    ///< Where counted nodes come from, and where its jobs go that name none; may be empty.
  /// Who may run in it, by name. Where both lists have names a job must be of both.
  std::set<std::string> users, accounts;
  base::Time start;
  base::Duration duration = base::kUnlimited;
  base::Duration every = {};  ///< Zero: once.
  bool maintenance = false;   ///< Nobody runs in it.
  bool ignore_jobs = false;   ///< Jobs that run on its nodes when it begins may continue.
  bool overlap = false;       ///< Its nodes may be in other reservations at the same time.
  std::string creator;

  Occurrence at(base::Time now) const { return occurrence_at(start, duration, every, now); }
  /// Nothing of it lies ahead.
  bool is_over(base::Time now) const { return every.us == 0 && at(now).to <= now; }
  bool admits(const std::string& user, const std::string& account) const;
  bool operator==(const Reservation&) const = default;
};

/// Refuses what contradicts itself: no nodes, nobody who may use it, an end before its beginning, repetitions that
/// overlap, an impossible name.
base::Status validate(const Reservation& r);

/// Do two reservations hold at the same time at any moment from `now` on? Compares the occurrences of a year at most.
bool coincide(const Reservation& a, const Reservation& b, base::Time now);

/// HOURLY, DAILY, WEEKLY; empty for 0; a duration otherwise.
std::string period_name(base::Duration every);

}  // namespace gw::model
