// Where passes continue that could not look at everybody. A pass gives each user an allowance of steps; the classes of
// a user that are beyond it are put off, and the passes that follow look at those before they look at any again that
// was looked at and waits. So nobody's classes, however many, keep another user's, or the last of their own, from being
// looked at: all have had their turn after as many passes as the allowance goes into them. A pass that runs out of its
// whole budget continues in the same way, with everybody's classes. Classes with jobs of several users are nobody's,
// and never put off. Part of the view, and of its snapshots.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "base/ids.h"
#include "base/time.h"

namespace gw::sched {

struct JobClass;

class Cursor {
 public:
  void begin_pass();
  /// It was looked at in this round, and waits: no steps are spent on it.
  bool is_passed(const JobClass& c) const;
  /// It was looked at, and waits; `is_limited`: whatever room there is.
  void pass_by(JobClass& c, bool is_limited) const;
  /// A class of the user has to wait for the next pass.
  void put_off(uint32_t uid) { put_off_.insert(uid); }
  /// How a pass ended.
  enum class End : uint8_t { kWhole, kOutOfSteps, kOutOfStarts };
  /// `epoch`: of the view that it looked at; `next_change`: first moment at which time alone could change an answer, as
  /// far as this pass and those that it continues from have seen. True: somebody is still to be looked at.
  bool end_pass(uint64_t epoch, End end, base::Time next_change);
  /// What the passes that the present one continues from said of that; never() if it continues from none.
  base::Time next_change() const { return next_change_; }
  /// Waiting jobs for which something was kept in the latest pass, or which kept others behind them waiting.
  void set_in_way(std::set<base::JobId> jobs) { in_way_ = std::move(jobs); }
  /// When limits will have room for those that they held back in that pass.
  void set_room_at(std::map<base::JobId, base::Time> when) { room_at_ = std::move(when); }
  /// Zero: it was not held back, or nobody knows.
  base::Time room_at(base::JobId job) const {
    const auto it = room_at_.find(job);
    return it == room_at_.end() || it->second == base::Time::never() ? base::Time() : it->second;
  }
  const std::set<base::JobId>& in_way() const { return in_way_; }

  // For snapshots.
  bool has_run_out() const { return all_since_ > 0; }
  std::set<uint32_t> users() const;
  /// As if a pass had left it so; classes that were looked at are to be told by pass_by().
  void restore(bool has_run_out, const std::set<uint32_t>& users, base::Time next_change, uint64_t epoch);

 private:
  bool is_more_after(uint64_t epoch, End end);

  /// The passes from the first that put a user's class off to the one after which nobody is to be looked at.
  struct Round {
    uint64_t since = 0;  ///< Number of its first pass.
    uint64_t epoch = 0;  ///< Of the view then.
  };
  uint64_t pass_ = 0;       // the present or latest one
  uint64_t all_since_ = 0;  // first of the passes that ran out of steps, one after the other; 0: the latest has not
  uint64_t all_epoch_ = 0;  // of the view then
  base::Time next_change_ = base::Time::never();
  std::map<uint32_t, Round> rounds_;
  std::set<uint32_t> put_off_;  // in this pass
  std::set<base::JobId> in_way_;
  std::map<base::JobId, base::Time> room_at_;
};

}  // namespace gw::sched
