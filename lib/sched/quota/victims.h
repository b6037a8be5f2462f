// Whom a blocked job may take from, one after the other (rules 5 to 8 of design section 6). Finds an order only: what
// fits is asked by the pass.
// Invariant: each victim may be taken after those told before it are gone, and also if some of those are given back.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <vector>

#include "sched/quota/quota.h"

namespace gw::sched {

/// A running job that may be preempted.
struct Candidate {
  JobId job;
  int64_t priority = 0;
  uint64_t lost = 0;  ///< Work since the last checkpoint: thousandths of a GPU times seconds.
  base::Time started;
  Quantities amounts;  ///< Of a gang without its pieces.
  JobId gang = {};     ///< Of a piece above an elastic gang's smallest size: the gang.
  /// Rule 8: pieces, then lowest priority, least lost work, youngest first.
  auto rank() const { return std::tuple(!gang, priority, lost, -started.us, ~job.value); }
};
/// Ranked, by the QOS where they run.
using Candidates = std::vector<std::vector<Candidate>>;

/// Are these still allowed, one after the other, from `trial` on, in which all of them run? Asked where some that were
/// taken first are to stay: what they hold may be what kept the preemptor's own QOS within its due.
struct Taken {
  uint32_t leaf = 0;
  Quantities amounts;
};
struct Preemptor;
bool are_allowed(Quotas trial, const Preemptor& preemptor, const std::vector<Taken>& victims);

/// Who takes, and what is allowed.
struct Preemptor {
  uint32_t leaf = 0;
  Quantities amounts;
  int64_t priority = 0;
  Reclaim reclaim = Reclaim::kFairShare;
  bool preempts = true;  ///< Rule 7.
};

/// Rule 7: of the QOS above the preemptor none that is within what it is due may be beyond it after the exchange.
class Lines {
 public:
  /// As they are before anybody is taken.
  Lines(const Quotas& before, const Preemptor& preemptor);
  /// Does that hold with the preemptor in place of those who are gone from `now`?
  bool are_kept(const Quotas& now) const;

 private:
  /// What the preemptor asks for there, and the most that the QOS may come to with it.
  struct Line {
    uint32_t side = 0;
    size_t resource = 0;
    uint64_t asked = 0;
    uint64_t most = 0;
  };
  std::vector<Line> lines_;
};

class Victims {
 public:
  /// `keeps_guarantees`: round one. `is_of_use`: whether it helps at all, as when it runs on nodes that the preemptor
  /// could have.
  Victims(Quotas trial, const Preemptor& preemptor, const Candidates& candidates, bool keeps_guarantees,
          std::function<bool(const Candidate&)> is_of_use);
  /// The next one; it counts as gone from now on.
  std::optional<JobId> next();
  /// Could it be the first to go, whoever is before it?
  bool may_go_first(uint32_t leaf, const Candidate& candidate);
  /// The same rules for some of the candidates, with or without rule 7.
  Victims among(const Candidates& candidates, bool by_priority) const {
    Victims out(trial_, preemptor_, candidates, keeps_guarantees_, is_of_use_);
    out.by_priority_ = by_priority_ && by_priority;
    return out;
  }
  void add_what_was_seen(const Victims& others) {
    seen_.has_spared |= others.seen_.has_spared;
    seen_.has_found |= others.seen_.has_found;
  }
  bool has_found() const { return seen_.has_found; }
  /// Did round one leave anybody out?
  bool has_spared() const { return seen_.has_spared; }

 private:
  Quotas trial_;
  const Preemptor& preemptor_;
  const Candidates& candidates_;
  const bool keeps_guarantees_;
  const std::function<bool(const Candidate&)> is_of_use_;
  std::vector<size_t> next_;  // by QOS: everybody before has been dealt with
  std::set<JobId> gone_;
  /// What became of those that were picked, over all searches by the same rules.
  struct Seen {
    bool has_spared = false;
    bool has_found = false;
  } seen_;
  bool only_pieces_ = false;  // first of all
  bool by_priority_ = true;   // rule 7

  /// Where the way to a victim has left the preemptor's own.
  struct Parting {
    uint32_t at = kNoQos;    ///< The QOS above both.
    uint32_t from = kNoQos;  ///< The one below it that is not the preemptor's.
  };
  const Candidate* pick(uint32_t side, const std::optional<Parting>& parting);
  void take_pieces(uint32_t leaf, const Candidate& gang);
  const Candidate* pick_at_leaf(uint32_t leaf, const std::optional<Parting>& parting);
  bool may_take(uint32_t leaf, const Candidate& candidate, const Parting& parting);
  bool could_ever_take(const Candidate& candidate, const Parting& parting) const;
  bool is_own(uint32_t side) const;
};

}  // namespace gw::sched
