// A timer of the clock that leases count by, as a descriptor to wait for. One that passes while the machine is
// suspended is due at once when it wakes, which no timer of the loops is. Invariant: where the system has no such
// timers it never comes; leases are then looked at with everything else.
#pragma once

#include "base/boot_time.h"
#include "noded/step/proc/owned_fd.h"

namespace gw::noded::step {

class LeaseTimer {
 public:
  LeaseTimer();
  /// Readable from then on; never() takes it back. Cheap if nothing changes.
  void set(base::BootTime at);
  /// -1 where the system has none.
  int fd() const { return fd_.get(); }

 private:
  proc::OwnedFd fd_;
  base::BootTime at_ = base::BootTime::never();
};

}  // namespace gw::noded::step
