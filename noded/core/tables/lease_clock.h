// What the leases of runs count by: CLOCK_BOOTTIME as the shell tells it, and the moment of the last contact.
// Invariants: a lease counts from when we sent the last beat that a controller answered, since at that moment it had
// certainly not given this node up; that moment never goes back, and is never later than such a beat.
#pragma once

#include <algorithm>

#include "base/boot_time.h"
#include "base/time.h"
#include "noded/core/run.h"
#include "wire/node.pb.h"

namespace gw::noded {

class LeaseClock {
 public:
  void turn(base::BootTime now) { now_ = now; }
  base::BootTime now() const { return now_; }
  /// Of runs that an earlier daemon left nothing is known: as if the controller had been heard just now.
  void start(base::Time at) {
    last_contact_ = now_;
    last_renewal_ = at;
  }

  /// A heartbeat or a registration was sent.
  void beat_sent() { beat_sent_ = now_; }
  /// Whether the controller says which beat it answers.
  void set_echoes(bool echoes) { echoes_ = echoes; }
  /// Only what answers a beat of ours counts: anything else may have been under way since before the controller gave
  /// this node up. True: leases count from later now.
  bool hear(const wire::ControllerToNode& message) {
    base::BootTime heard = last_contact_;
    if (!echoes_) heard = now_;  // a controller of an earlier version
    if (message.has_registered()) heard = beat_sent_;
    if (message.has_heartbeat() && message.heartbeat().echo_us() != 0)
      heard = std::min(base::BootTime{message.heartbeat().echo_us()}, beat_sent_);
    if (heard <= last_contact_) return false;
    last_contact_ = heard;
    return true;
  }

  base::BootTime last_contact() const { return last_contact_; }
  base::Duration age() const { return now_ - last_contact_; }
  /// When the run must end by itself; never, where it has no lease or is being ended for it.
  base::BootTime end_of(const Run& run) const {
    const bool counts = run.record.lease_us() > 0 && run.is_live() && !run.done.lease_expired();
    return counts ? last_contact_ + base::Duration{run.record.lease_us()} : base::BootTime::never();
  }

  /// Whether shepherds are to be told again, twice in a heartbeat at most. True counts as done.
  bool take_renewal(base::Time at, base::Duration heartbeat) {
    if (at - last_renewal_ < base::microseconds(heartbeat.us / 2)) return false;
    last_renewal_ = at;
    return true;
  }

 private:
  base::BootTime now_;
  base::BootTime beat_sent_;
  base::BootTime last_contact_;
  bool echoes_ = false;
  base::Time last_renewal_;
};

}  // namespace gw::noded
