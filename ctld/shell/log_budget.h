// How many lines of events go to the log: a storm of them, such as ten thousand nodes that come back, neither fills the
// disk nor holds up the loop. The history (`gcontrol show events`) has every event all the same.
// Invariant: warnings have a budget of their own; how many lines were left out is said before the next one.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <utility>

#include "ctld/core/tables/request_rate.h"

namespace gw::ctld {

class LogBudget {
 public:
  static constexpr uint32_t kAtOnce = 2'000;  ///< Lines, after a pause,
  static constexpr uint32_t kASecond = 200;   ///< and then.

  /// How many lines like it were left out before this one; nothing: this one is left out, too.
  std::optional<uint64_t> take(base::Time now, bool is_warning) {
    uint64_t& out = left_out_[is_warning ? 1 : 0];
    if (rate_.take(now, is_warning ? 1 : 0, {kASecond, kAtOnce, base::seconds(1)}) == base::Duration{})
      return std::exchange(out, 0);
    ++out;
    return std::nullopt;
  }

 private:
  RequestRate rate_;
  std::array<uint64_t, 2> left_out_ = {};
};

}  // namespace gw::ctld
