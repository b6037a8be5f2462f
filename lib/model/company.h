// What a job's pace says of those with whom it shares a GPU (rule 14 of docs/quotas.md). Pure. Invariants: a job is
// judged by what it did alone for a whole minute of the same run; once it needs a GPU of its own it does so for good.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>

#include "base/time.h"

namespace gw::model {

struct Company {
  /// Thousandths of steps a second of the last whole minute in which nobody else had a part of its GPU, in this run; 0:
  /// there was none.
  uint64_t own_rate_milli = 0;
  base::Time alone_since = {};  ///< When the minute began that is measured; zero: none is.
  uint64_t alone_step = 0;      ///< How far it was then.
  base::Time slow_since = {};   ///< Beside others, slower than its partition lets it be; zero: it is not.
  bool needs_own_gpu = false;   ///< It was so for long: nobody is put beside it any more.
  bool operator==(const Company&) const = default;
};

/// What a job told just now.
struct Pace {
  uint64_t milli = 0;  ///< Thousandths of steps a second since it told something before; 0: not known.
  std::optional<uint64_t> step = {};
  bool has_others = false;  ///< Somebody has another part of its GPU.
};

/// So long a job is measured alone. So long, too, it has to be slow whenever it tells something, before it is parted
/// from others: one stop, for an evaluation or a checkpoint, shows in one report however long it is.
constexpr base::Duration kCompanyLooksBack = base::minutes(1);

/// The same with what it told. `least`: hundredths of its own rate that it is to keep.
inline Company with_pace(Company c, const Pace& pace, uint32_t least, base::Time now) {
  if (pace.milli == 0) return c;
  if (!pace.has_others) {
    c.slow_since = {};
    const bool goes_on = c.alone_since && c.alone_since <= now && pace.step.value_or(c.alone_step) >= c.alone_step;
    if (goes_on && now - c.alone_since < kCompanyLooksBack) return c;
    if (goes_on) {
      const double seconds = static_cast<double>((now - c.alone_since).us) / 1e6;
      const double steps = static_cast<double>(pace.step.value_or(0) - c.alone_step);
      c.own_rate_milli = pace.step ? static_cast<uint64_t>(std::llround(steps * 1e3 / seconds)) : pace.milli;
    }
    c.alone_since = now;
    c.alone_step = pace.step.value_or(0);
    return c;
  }
  c.alone_since = {};
  const bool is_slow = static_cast<double>(pace.milli) < static_cast<double>(c.own_rate_milli) * least / 100.0;
  if (!is_slow)
    c.slow_since = {};
  else if (!c.slow_since || c.slow_since > now)
    c.slow_since = now;
  c.needs_own_gpu |= is_slow && now - c.slow_since >= kCompanyLooksBack;
  return c;
}

}  // namespace gw::model
