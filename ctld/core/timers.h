// Moments at which the core wants to be woken, with what for. A timer is a hint: its handler looks again at the state,
// so stale ones do no harm and none is ever cancelled.
#pragma once

#include <cstdint>
#include <set>
#include <tuple>

#include "base/time.h"

namespace gw::ctld {

enum class TimerKind : uint8_t {
  kJobEligible,  ///< begin time or launch back-off is over
  kJobWarn,      ///< --signal
  kJobLimit,
  kStartTimeout,  ///< the gang is not prepared
  kJobPurge,      ///< an ended job leaves memory
  kNodeSilence,   ///< nothing heard of a node
  kNodeBeat,      ///< send a heartbeat
  kNodeDown,      ///< out of reach for the time-out
  kLeaseOver,     ///< the node must have ended the job itself
  kReplies,       ///< forget old answers
  kReservation,   ///< a reservation is over
  kUsage,         ///< the scheduler is told of use
  kPiece,         ///< a node should have joined an elastic gang, or left it
  kSuspension,    ///< the job should stand still
  kStepUse,       ///< nodes should have said what steps use
  kAbsence,       ///< the client of a job without a script should be back
};

struct Timer {
  base::Time at;
  TimerKind kind;
  uint64_t id = 0;       ///< Job or node.
  uint32_t attempt = 0;  ///< Of the job.
  auto key() const { return std::tuple(at, kind, id, attempt); }
  bool operator<(const Timer& o) const { return key() < o.key(); }
};

/// Timers by time. Equal ones collapse.
class Timers {
 public:
  void set(const Timer& timer) {
    if (timer.at != base::Time::never()) timers_.insert(timer);
  }
  base::Time next() const { return timers_.empty() ? base::Time::never() : timers_.begin()->at; }
  /// Takes out the first timer that is due.
  bool take_due(base::Time now, Timer& out) {
    if (timers_.empty() || timers_.begin()->at > now) return false;
    out = *timers_.begin();
    timers_.erase(timers_.begin());
    return true;
  }

 private:
  std::set<Timer> timers_;
};

}  // namespace gw::ctld
