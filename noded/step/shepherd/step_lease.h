// The lease of a job as one of its steps counts it: how long it continues without word from the controller.
#pragma once

#include <algorithm>

#include "base/boot_time.h"
#include "noded/step/proc/lease_timer.h"

namespace gw::noded::step {

class StepLease {
 public:
  /// `length_us`: 0 if there is none. `heard`: when the controller was.
  StepLease(int64_t length_us, base::BootTime heard) : length_us_(length_us), heard_(heard) {}

  /// The controller was heard then.
  void on_heard(base::BootTime at) { heard_ = std::max(heard_, at); }
  base::BootTime over_at() const {
    return length_us_ > 0 ? heard_ + base::Duration{length_us_} : base::BootTime::never();
  }
  /// It counts no longer.
  void stop() { length_us_ = 0; }
  /// Readable once it is over; -1 where the system has no such timers.
  int fd() {
    timer_.set(over_at());
    return timer_.fd();
  }

 private:
  int64_t length_us_;
  base::BootTime heard_;
  LeaseTimer timer_;
};

}  // namespace gw::noded::step
