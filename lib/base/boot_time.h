// Moments of the clock that leases count by: CLOCK_BOOTTIME, which never jumps, and continues while the machine is
// suspended. A type of its own, so that nobody takes it for the time of day, which an administrator may set.
// Invariant: a moment means something on the machine, and until the reboot, that it was read on alone.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>

#include "base/time.h"

namespace gw::base {

/// Microseconds since the machine was booted, those in which it was suspended among them.
struct BootTime {
  int64_t us = 0;
  constexpr auto operator<=>(const BootTime&) const = default;
  /// Saturates at never().
  constexpr BootTime operator+(Duration d) const {
    return d.us > std::numeric_limits<int64_t>::max() - (us > 0 ? us : 0) ? never() : BootTime{us + d.us};
  }
  constexpr BootTime operator-(Duration d) const { return {us - d.us}; }
  constexpr Duration operator-(BootTime o) const { return {us - o.us}; }
  static constexpr BootTime never() { return {std::numeric_limits<int64_t>::max()}; }
};

/// What the clock shows; for shells and shepherds alone.
BootTime boot_time_now();

}  // namespace gw::base
