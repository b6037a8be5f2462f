// Points in time and durations as types (microseconds), the Clock seam, and the time forms that users write and read.
// Invariant: pure code never asks a Clock; it is handed a Time.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "base/result.h"

namespace gw::base {

/// A length of time in microseconds; may be negative.
struct Duration {
  int64_t us = 0;
  constexpr auto operator<=>(const Duration&) const = default;
  constexpr Duration operator+(Duration o) const { return {us + o.us}; }
  constexpr Duration operator-(Duration o) const { return {us - o.us}; }
  constexpr Duration operator*(int64_t n) const { return {us * n}; }
  constexpr int64_t seconds() const { return us / 1'000'000; }
  constexpr int64_t milliseconds() const { return us / 1'000; }
};
constexpr Duration microseconds(int64_t n) { return {n}; }
constexpr Duration milliseconds(int64_t n) { return {n * 1'000}; }
constexpr Duration seconds(int64_t n) { return {n * 1'000'000}; }
constexpr Duration minutes(int64_t n) { return seconds(n * 60); }
constexpr double in_seconds(Duration d) { return static_cast<double>(d.us) / 1e6; }
constexpr Duration hours(int64_t n) { return minutes(n * 60); }
/// Stands for UNLIMITED wherever a limit is meant.
constexpr Duration kUnlimited{std::numeric_limits<int64_t>::max()};

/// Microseconds since the Unix epoch (UTC). Zero means "never" or "unknown".
struct Time {
  int64_t us = 0;
  constexpr auto operator<=>(const Time&) const = default;
  constexpr explicit operator bool() const { return us != 0; }
  /// Saturates at Time::never() so that an unlimited duration gives a time that does not come.
  constexpr Time operator+(Duration d) const {
    return d.us > std::numeric_limits<int64_t>::max() - (us > 0 ? us : 0) ? never() : Time{us + d.us};
  }
  constexpr Time operator-(Duration d) const { return {us - d.us}; }
  constexpr Duration operator-(Time o) const { return {us - o.us}; }
  constexpr int64_t seconds() const { return us / 1'000'000; }
  static constexpr Time never() { return {std::numeric_limits<int64_t>::max()}; }
};

/// The seam to the operating system's clock; only shells hold one.
class Clock {
 public:
  virtual ~Clock() = default;
  /// Wall clock.
  virtual Time now() const = 0;
};

/// The machine's real-time clock.
class SystemClock final : public Clock {
 public:
  Time now() const override;
};

/// Reads a Slurm time limit: `M`, `M:S`, `H:M:S`, `D-H`, `D-H:M`, `D-H:M:S`, `UNLIMITED`/`INFINITE`/`-1`, and also
/// `90s`, `5m`, `2h`, `1d12h`. Not rounded. Errors: empty, garbage, overflow, zero is allowed.
Result<Duration> parse_duration(std::string_view text);
/// Rounds up to whole minutes, as Slurm keeps limits.
Duration round_up_to_minute(Duration d);
/// Reads a point in time: `now`, `now+1hour`, `now+90` (seconds), `16:00[:00]`, `4pm`-like, `today`, `tomorrow`,
/// `midnight`, `noon`, `2027-01-20[T12:34[:56]]`, `MMDD[YY]`, `MM/DD[/YY][-12:34[:56]]`, `MM.DD[.YY]`. Local time zone.
/// A clock time already past today means tomorrow.
Result<Time> parse_time(std::string_view text, Time now);
/// `[D-]HH:MM:SS`; below one hour `MM:SS` if `squeue_style` (as squeue prints %M); UNLIMITED for kUnlimited.
std::string format_duration(Duration d, bool squeue_style = false);
/// `YYYY-MM-DDTHH:MM:SS` in local time; "Unknown" for zero and never.
std::string format_time(Time t);

}  // namespace gw::base
