// A daemon's clock: wall-clock time that never jumps. A step of the machine's clock must not time out every node,
// limit and lease at once; the difference is made up for slowly.
#pragma once

#include <algorithm>

#include "base/time.h"
#include "io/loop.h"

namespace gw::io {

class SteadyClock final : public base::Clock {
 public:
  base::Time now() const override {
    const base::Duration here = Loop::monotonic();
    const base::Duration passed = here - last_;
    last_ = here;
    now_ = now_ + passed;
    // At most a tenth faster or slower than time itself, so that it never runs backwards.
    const base::Duration off = base::SystemClock().now() - now_;
    const base::Duration most{passed.us / 10};
    now_ = now_ + std::clamp(off, base::Duration{-most.us}, most);
    return now_;
  }

 private:
  mutable base::Duration last_ = Loop::monotonic();
  mutable base::Time now_ = base::SystemClock().now();
};

}  // namespace gw::io
