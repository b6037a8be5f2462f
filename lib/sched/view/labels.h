// Which running jobs are covered and which are borrowed (rule 8 of docs/quotas.md), for people: with the QOS where a
// job is borrowed first, and those of which a job could take it now. The same labels as the search's (sched/cycle/
// victim_pool.h), of the view as it stands. Costs: a walk over the running jobs for each level of the tree, and what
// preemptors.h costs.
#pragma once

#include <set>
#include <vector>

#include "sched/view/preemptors.h"

namespace gw::sched {

struct JobLabel {
  JobId job;
  uint32_t borrowed_at = kNoQos;     ///< The lowest QOS; kNoQos: it is covered everywhere.
  bool has_fair = false;             ///< Fair shares cover too.
  uint32_t beyond_fair_at = kNoQos;  ///< Likewise, by fair shares.
  bool is_never_preempted = false;
  Time protected_until = {};  ///< Nobody takes it so soon after its start (`min_runtime`); zero where that is over.
  uint32_t extensions = 0, borrowed_extensions = 0;  ///< Of an elastic gang.
  Preemptors::Answer preemptors;
};

class Labels {
 public:
  /// The view outlives the labels and does not change meanwhile.
  explicit Labels(const ClusterView& view) : Labels(view, quotas_with_kept(view)) {}
  /// As if so much more waited at a QOS.
  Labels(const ClusterView& view, uint32_t leaf, const Quantities& wish);
  Labels(const Labels&) = delete;
  Labels& operator=(const Labels&) = delete;

  const Quotas& quotas() const { return quotas_; }
  Covers& covers() { return covers_; }
  /// Of these jobs, or of all that run; in the order of their ids. Those that do not run, or were told to go, have
  /// none.
  std::vector<JobLabel> list(const std::set<JobId>& jobs, bool all, Time now);
  /// Running jobs at a QOS and below it that may be preempted now, extensions apart, in the order of rule 8.
  std::vector<Victim> victims(uint32_t qos, Time now) const;
  /// The lowest QOS where it is not covered; kNoQos: there is none.
  uint32_t first_borrowed(Cover& cover, JobId job, uint32_t leaf) const;

 private:
  const ClusterView& view_;
  const Quotas quotas_;
  Covers covers_;

  Labels(const ClusterView& view, Quotas quotas);
  void add_all();
  void add(CoverEntry entry);
  JobLabel label_of(const PendingJob& running, const QuotaLedger::Holder& holder, Time now);
  Time protected_until(JobId running, const QuotaLedger::Holder& holder) const;
  Victim victim_of(const PendingJob& running, const QuotaLedger::Holder& holder, Time now) const;
};

}  // namespace gw::sched
