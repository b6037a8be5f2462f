// The clocks of a shepherd: for its timers, for what it reports, and for its lease.
#pragma once

#include <algorithm>
#include <cstdint>
#include <ctime>

#include "base/boot_time.h"

namespace gw::noded::step {

/// Microseconds that never jump.
inline int64_t monotonic_us() {
  timespec t{};
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  return int64_t{t.tv_sec} * 1'000'000 + t.tv_nsec / 1000;
}
/// Microseconds since the epoch.
inline int64_t wall_us() {
  timespec t{};
  ::clock_gettime(CLOCK_REALTIME, &t);
  return int64_t{t.tv_sec} * 1'000'000 + t.tv_nsec / 1000;
}

/// When the controller was heard, as a node daemon says it: by the clock of leases, or, an earlier version, as the time
/// that had passed since when it said so.
inline base::BootTime heard_at(int64_t boot_us, int64_t age_us) {
  const base::BootTime now = base::boot_time_now();
  if (boot_us > 0) return std::min(base::BootTime{boot_us}, now);
  return now - base::Duration{std::max<int64_t>(age_us, 0)};
}

}  // namespace gw::noded::step
