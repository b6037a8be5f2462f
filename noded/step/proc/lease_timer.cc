// A timer of the clock that leases count by. See lease_timer.h.
#include "noded/step/proc/lease_timer.h"

#include <sys/timerfd.h>

#include <algorithm>

namespace gw::noded::step {

LeaseTimer::LeaseTimer() : fd_(::timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC)) {}

void LeaseTimer::set(base::BootTime at) {
  if (at == at_ || !fd_) return;
  at_ = at;
  itimerspec when{};  // all zero: disarmed
  if (at != base::BootTime::never()) {
    const int64_t us = std::max<int64_t>(at.us, 1);
    when.it_value.tv_sec = us / 1'000'000;
    when.it_value.tv_nsec = us % 1'000'000 * 1000;
  }
  ::timerfd_settime(fd_.get(), TFD_TIMER_ABSTIME, &when, nullptr);
}

}  // namespace gw::noded::step
