// Backfill: the first blocked jobs of each partition have a planned start, the earliest there is, and nothing that
// starts now may delay it. This owns the timelines of what is planned: one with everything, and one that a job within
// its guarantee sees, to which planned starts of borrowers yield (rule 11 of docs/quotas.md). Source: conservative
// backfill, as in earliest.h.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sched/cycle/plan.h"
#include "sched/ledger/timeline.h"
#include "sched/place/earliest.h"

namespace gw::sched {

struct Session;
struct Served;

/// A job with a planned start, within its guarantee by then: its place is lent meanwhile (lend.h). `when` is never() of
/// one for which nodes are gathered.
struct Lender {
  JobId job;
  uint32_t leaf = 0;
  Quantities amounts;
  Time when;
  Time until;
};

class Backfill {
 public:
  /// Reservations of administrators are kept before any job is. `has_quotas`: some QOS borrow from others.
  void open(const AdvanceReservations& reservations, const Capacity& capacity, Time now, bool has_quotas);
  /// What is planned, as a job sees it that is or is not within its guarantee.
  const Timeline& seen_by(bool is_guaranteed) const { return is_guaranteed && has_quotas_ ? firm_ : all_; }
  /// What advance reservations keep, and nothing else.
  const Timeline& reserved() const { return reserved_; }
  /// Everything that is planned.
  const Timeline& all() const { return all_; }
  /// Keeps this for the job from then on, for as long as it may run.
  void keep(const PendingJob& job, const FutureStart& start, bool is_guaranteed);
  void add_lender(Lender lender) { lenders_.push_back(std::move(lender)); }
  const std::vector<Lender>& lenders() const { return lenders_; }
  /// Everything that is planned, but for these jobs; until something more is kept.
  const Timeline& without(const std::set<JobId>& jobs);
  /// Jobs that got a planned start in a partition, or could have.
  uint32_t planned_in(const std::string& partition) const;
  /// Another job for which nodes are to be gathered; returns how many there are with it.
  size_t count_gathered() { return ++gathered_; }
  void count_planned(const std::string& partition, JobId job) {
    ++planned_in_[partition];
    counted_.insert(job);
  }
  /// Jobs for which a start was planned, or could have been.
  const std::set<JobId>& counted() const { return counted_; }

 private:
  Timeline reserved_;
  Timeline all_;
  Timeline firm_;  // without planned starts of borrowers; kept only where there are quotas
  bool has_quotas_ = false;
  std::map<std::string, uint32_t> planned_in_;
  std::set<JobId> counted_;
  size_t gathered_ = 0;
  std::vector<Lender> lenders_;
  std::map<std::set<JobId>, Timeline> without_;
};

/// May a start be planned for the job in any of its partitions?
bool may_plan(Session& session, const Served& served);
/// Plans the earliest start of the served job, if one is foreseen; if not, nodes are gathered once its patience is
/// over.
void plan_start(Session& session, const Served& served);

}  // namespace gw::sched
