// A what-if trial: jobs are placed, evicted and counted in the scheduler's ledger and in the sums of the quotas as if
// it were so, and all of it is undone, the newest first. What a pass has decided stays in its trial until the pass
// ends; a search that finds nothing rolls back to the mark where it began. A trial of a const view works on a copy of
// the ledger, for questions that are asked outside a pass. Invariants: after rollback(m) the ledger and the sums are as
// they were at m = mark(); when the trial is destroyed the view is as it was before it. What was spent of a budget is
// not undone: a replay would differ.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "sched/quota/quota.h"
#include "sched/view/view.h"

namespace gw::sched {

class Trial {
 public:
  /// A position in the trial's log.
  using Mark = size_t;

  /// Works on the view's own ledger, which nobody else changes meanwhile.
  explicit Trial(ClusterView& view);
  /// Works on a copy of the ledger: the view is not touched. Costs what building the ledger anew costs.
  explicit Trial(const ClusterView& view);
  ~Trial();
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  const Capacity& capacity() const { return *capacity_; }
  const Quotas& quotas() const { return quotas_; }

  Mark mark() { return latest_mark_ = log_.size(); }
  /// Undoes everything since `mark`, the newest first.
  void rollback(Mark mark);

  /// A job, or a part of one, holds this. False: something of it is not free; nothing has changed.
  bool place(JobId id, const std::string& partition, const model::Allocation& allocation, Time from, Time until);
  /// Nobody else gets what that placement leaves of a GPU.
  void set_own_gpu(JobId placed) { capacity_->set_own_gpu(placed); }
  /// What was placed will end at another time.
  void set_end(JobId id, Time until);
  /// So much more is held and counted at a leaf of the tree of quotas (Quotas::start).
  void count(uint32_t leaf, const Quantities& amounts, bool preemptible, uint32_t uid);
  void count(const QuotaLedger::Holder& holder) { count(holder.leaf, holder.amounts, holder.preemptible, holder.uid); }
  /// A running job was told to go: it holds what it holds, but no longer counts (Quotas::send_off).
  void send_off(const QuotaLedger::Holder& holder);

  /// A running job goes, with its components and with the extensions of an elastic gang that are still there.
  void evict(JobId job);
  /// It stays after all. A step forward in the log, as eviction is: whoever rolls back past it evicts the job again.
  void spare(JobId job);
  /// One that was told to go before the trial has left.
  void let_leave(JobId part);
  /// An evicted job keeps this in suspension. False: it is not free.
  bool suspend(JobId job, const model::Allocation& kept);

  bool is_evicted(JobId part) const { return evicted_parts_.contains(part); }
  bool has_evicted() const { return !evicted_parts_.empty(); }
  /// What an evicted part held.
  const model::Allocation& evicted_allocation(JobId part) const { return evicted_parts_.at(part).allocation; }
  /// Where a running job, evicted or not, is or was.
  const Holding& holding_of(JobId part) const;
  /// The parts that went when the job was evicted.
  std::vector<JobId> evicted_with(JobId job) const;
  /// The ids under which a running job holds something, or did before it was evicted: its own, those of its components
  /// and of its extensions.
  std::vector<JobId> parts_of(JobId job) const;
  /// Without those that are evicted.
  std::vector<JobId> parts_left(JobId job) const;
  /// An extension goes with its elastic gang: it cannot stay alone.
  bool may_stay(JobId extension) const;

  /// Leaves of the tree whose sums have changed since this was last asked, also if they were rolled back.
  std::set<uint32_t> take_changed_leaves() { return std::exchange(changed_leaves_, {}); }

 private:
  /// What an evicted part held.
  struct Part {
    model::Allocation allocation;
    Holding holding;
  };
  using Parts = std::vector<std::pair<JobId, Part>>;

  struct Placed {
    JobId id;
  };
  struct EndSet {
    JobId id;
    Time before;
  };
  struct Counted {
    uint32_t leaf;
    Quantities amounts;
    bool preemptible;
    uint32_t uid;
  };
  struct SentOff {
    const QuotaLedger::Holder* holder;
  };
  struct Evicted {
    JobId job;
  };
  struct Spared {
    JobId job;
    Parts parts;
  };
  struct Left {
    JobId part;
  };
  using Step = std::variant<Placed, EndSet, Counted, SentOff, Evicted, Spared, Left>;

  const ClusterView& view_;
  const std::unique_ptr<Capacity> copy_;  // where the view is const
  Capacity* const capacity_;
  Quotas quotas_;
  std::vector<Step> log_;
  Mark latest_mark_ = 0;  // none that is still of use is beyond it
  std::map<JobId, Part> evicted_parts_;
  std::map<JobId, std::vector<JobId>> evicted_with_;  // a job, and the parts that went with it
  std::set<uint32_t> changed_leaves_;

  void undo(const Placed& step);
  void undo(const EndSet& step);
  void undo(const Counted& step);
  void undo(const SentOff& step);
  void undo(const Evicted& step);
  void undo(Spared& step);
  void undo(const Left& step);
  const QuotaLedger::Holder& holder(JobId part) const { return *view_.quota().holder(part); }
  void take_part(JobId part);
  void give_part_back(JobId part, const Part& was);
};

}  // namespace gw::sched
