// How those who run stand before their orders, and what users hold: what is not in a waiting job itself of what orders
// are told. Invariants: who runs is listed before the pass tries anything, and only where an order asks for it; what
// the pass decides is counted at once, and who was told to go before it counts no longer. What is free, and what orders
// work out of all, is of when the pass began.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "sched/queue/order_facts.h"
#include "sched/quota/holdings.h"
#include "sched/view/view.h"

namespace gw::sched {

class Standings {
 public:
  /// The view outlives it.
  Standings(const ClusterView& view, Time now);
  Standings(const Standings&) = delete;
  Standings& operator=(const Standings&) = delete;

  const OrderContext& context() const { return facts_.context(); }
  /// What the order is told of a job that waits. `leaf`: of the tree of quotas.
  JobFacts of(const PendingJob& waiting, uint32_t leaf) const;
  /// Those who ran at that leaf in that partition when the pass began and were not told to go since, as its order
  /// ranked them then, the last first. Valid until somebody is told to go. Parts of jobs (extensions, components but
  /// the first, what suspended jobs keep) are not among them.
  const std::vector<const JobFacts*>& ranked(uint32_t leaf, const std::string& partition);
  /// Where somebody ran in that partition when the pass began.
  std::vector<uint32_t> leaves_in(const std::string& partition) const;
  /// Tells what there is to tell of that leaf and partition, as far as its order goes by it: what the job's user holds
  /// there now, less `without`; what is free; what was worked out of all.
  void tell_pool(JobFacts& facts, uint32_t leaf, const std::string& partition, const Held& without = {}) const;
  /// What a job holds that ran when the pass began.
  Held held_by(JobId running) const;
  /// It is to start there; null: a part of a job.
  void add(const PendingJob* job, const std::string& partition, const model::Allocation& allocation);
  /// A running job is to leave.
  void remove(JobId job);

 private:
  using Pool = std::pair<uint32_t, std::string>;
  struct Run {
    const PendingJob* job = nullptr;
    Pool pool;
    Time since;
    Held held;
  };
  /// What a job that is to start there was counted with.
  struct Coming {
    Pool pool;
    uint32_t uid = 0;
    Held held;
  };
  const ClusterView& view_;
  const OrderFacts facts_;
  std::unordered_map<JobId, Run> runs_;
  std::map<Pool, std::vector<JobId>> in_pool_;
  struct Ranked {
    std::vector<JobFacts> facts;
    std::vector<const JobFacts*> order;
    size_t gone = 0;  // of gone_, so many were left out
  };
  std::map<Pool, Ranked> ranked_;
  std::unordered_set<JobId> gone_;                  // told to go
  std::map<std::pair<Pool, uint32_t>, Held> held_;  // by user
  std::map<std::string, Held> all_, free_;          // that partitions have, of which that is told
  std::map<Pool, std::shared_ptr<const Survey>> surveys_;
  std::map<JobId, Coming> coming_;

  void list_runs();
  void count_holdings();
  void make_surveys();
  void rank(const Pool& pool, Ranked& out);
  const Order& order_of(const Pool& pool) const;
  Needs needs_of(const Pool& pool) const { return order_of(pool).needs(); }
};

/// What a running job holds now, with its extensions and components.
Held held_with_parts(const ClusterView& view, JobId job);

}  // namespace gw::sched
