// The two clocks of a shepherd: one for its timers, one for what it reports.
#pragma once

#include <cstdint>
#include <ctime>

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

}  // namespace gw::noded::step
