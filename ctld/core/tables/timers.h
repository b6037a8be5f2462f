// Moments at which the core wants to be woken, with what for. A timer is a hint: its handler looks again at the state,
// so a stale one does no harm. Invariant: of the kinds that may lie far ahead (is_single) a job or node has one at
// most, however often it is set, and a job that ends leaves none behind: timers take no more memory than what they are
// about.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "base/ids.h"
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
  kExtension,     ///< a node should have joined an elastic gang, or left it
  kSuspension,    ///< the job should be suspended
  kStepUse,       ///< nodes should have said what steps use
  kAllHeard,      ///< all nodes should have said what they run
  kAbsence,       ///< the client of a job without a script should be back
  kArrivals,      ///< look again whether those who have come are heard
  kEnvironment,   ///< the environment of an ended job is deleted
  kScripts,       ///< scripts that no job in memory has are deleted
  kDependents,    ///< jobs that wait for others are looked at again
  kArrays,        ///< further tasks of arrays are made
  kBudgets,       ///< what is used of budgets is looked at
  kJobProgram,    ///< nobody knows what became of the controller's epilog: it is asked for again
  kJobMail,       ///< a part of the time limit has passed, and its user is to hear of it
  kWaits,         ///< what jobs have waited for is kept
  kLists,         ///< lists that several asked for may be made
  kChanges,       ///< who watches the cluster is to be told of a change
};

struct Timer {
  base::Time at;
  TimerKind kind;
  uint64_t id = 0;       ///< Job or node.
  uint32_t attempt = 0;  ///< Of the job.
  base::NodeId node{};   ///< Of kLeaseOver: the node that was lost; none: all that are out of reach.
  auto key() const { return std::tuple(at, kind, id, attempt, node); }
  bool operator<(const Timer& o) const { return key() < o.key(); }
};

/// Kinds of which the latest set holds: the handler acts on what is true by then, or sets the next one. Of the others a
/// job may have several at once, all of them near: one a node that left it, say.
constexpr bool is_single(TimerKind kind) {
  switch (kind) {
    case TimerKind::kJobEligible:
    case TimerKind::kJobWarn:
    case TimerKind::kJobLimit:
    case TimerKind::kStartTimeout:
    case TimerKind::kJobProgram:
    case TimerKind::kJobPurge:
    case TimerKind::kNodeBeat:
    case TimerKind::kNodeDown:
    case TimerKind::kArrays:
    case TimerKind::kJobMail:
    case TimerKind::kLists:
    case TimerKind::kChanges:
      return true;
    default:
      return false;
  }
}

/// Timers by time. Equal ones collapse.
class Timers {
 public:
  void set(const Timer& timer) {
    if (is_single(timer.kind)) cancel(timer.kind, timer.id);
    if (timer.at == base::Time::never()) return;
    timers_.insert(timer);
    if (is_single(timer.kind)) singles_.insert_or_assign({timer.kind, timer.id}, timer);
  }
  /// Takes back a timer of a single kind; nothing if there is none.
  void cancel(TimerKind kind, uint64_t id) {
    const auto it = singles_.find({kind, id});
    if (it == singles_.end()) return;
    timers_.erase(it->second);
    singles_.erase(it);
  }
  /// Takes back what a job waits for as long as it is not over.
  void cancel_job(uint64_t id) {
    for (const TimerKind kind : {TimerKind::kJobEligible, TimerKind::kJobWarn, TimerKind::kJobLimit,
                                 TimerKind::kStartTimeout, TimerKind::kJobMail, TimerKind::kJobProgram})
      cancel(kind, id);
  }
  size_t size() const { return timers_.size(); }
  base::Time next() const { return timers_.empty() ? base::Time::never() : timers_.begin()->at; }
  /// Is one of this kind due?
  bool is_due(base::Time now, TimerKind kind) const {
    for (auto it = timers_.begin(); it != timers_.end() && it->at <= now; ++it)
      if (it->kind == kind) return true;
    return false;
  }
  /// Calls `fn` with each that is due.
  template <typename Fn>
  void each_due(base::Time now, const Fn& fn) const {
    for (auto it = timers_.begin(); it != timers_.end() && it->at <= now; ++it) fn(*it);
  }
  /// Takes out the first timer that is due.
  bool take_due(base::Time now, Timer& out) {
    if (timers_.empty() || timers_.begin()->at > now) return false;
    out = *timers_.begin();
    timers_.erase(timers_.begin());
    if (is_single(out.kind)) singles_.erase({out.kind, out.id});
    return true;
  }

 private:
  std::set<Timer> timers_;
  std::map<std::pair<TimerKind, uint64_t>, Timer> singles_;  // kind, job or node
};

}  // namespace gw::ctld
