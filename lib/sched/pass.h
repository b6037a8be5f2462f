// The working of one plan(): what has been decided so far, and the trial of it on the view.
// Invariant: when run() returns, the view's ledger is as it was.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sched/earliest.h"
#include "sched/order_facts.h"
#include "sched/place.h"
#include "sched/plan.h"
#include "sched/timeline.h"

namespace gw::sched {

/// A limit longer than the partition's keeps a job out of it, unless no partition that it names is long enough: then an
/// administrator let it in.
bool allows_time(const Capacity& capacity, const PendingJob& job, const PartitionFacts& partition);

class Pass {
 public:
  Pass(ClusterView& view, Time now, const Budget& budget);
  Plan run();

 private:
  /// Position of a class in the pass: tier of its best partition, submitted priority, score, age.
  struct Turn {
    int32_t tier = 0;
    Rank rank;  // with -score as key
    const ClassKey* key = nullptr;
    bool operator<(const Turn& o) const { return std::tuple(o.tier, rank.tie()) < std::tuple(tier, o.rank.tie()); }
  };
  /// A class in the course of the pass.
  struct Progress {
    std::map<Rank, PendingJob>::const_iterator next;
    bool is_blocked = false;
  };
  /// Where a job may start within its locality, and until when that holds.
  struct Closeness {
    model::Locality level = model::Locality::kAny;
    uint32_t switches = 0;
  };
  enum class Outcome { kStarted, kBlocked, kRejected };

  ClusterView& view_;
  const Time now_;
  const Budget& budget_;
  const Order& order_;
  const OrderFacts facts_;
  Timeline timeline_;
  Plan plan_;
  std::map<const ClassKey*, Progress> progress_;
  std::set<Turn> turns_;
  uint64_t placements_ = 0;
  uint64_t starts_ = 0;
  std::vector<JobId> tentative_;              // allocated in the view for this pass only
  std::map<JobId, model::Allocation> taken_;  // running jobs released in the view for this pass only
  std::map<JobId, Holding> taken_holdings_;
  std::map<std::string, uint32_t> reserved_in_;  // blocked jobs that got a promise, or could have
  std::map<std::string, JobId> first_blocked_;   // by partition
  std::map<std::string, Census> failed_;         // of the job last tried, by partition

  Capacity& capacity() { return view_.capacity(); }
  void book_advance_reservations();
  void take_turn(const ClassKey& key);
  void serve(const Turn& turn);
  void change_at(Time when);

  Closeness closeness(const PendingJob& job);
  std::optional<Look> look_for(const PendingJob& job, const PartitionFacts& partition, Duration length);
  bool is_open(const PendingJob& job, const std::string& partition) const;
  Outcome decide(const PendingJob& job, JobClass& job_class, bool is_blocked, bool is_known);
  std::optional<std::string> hopeless(const PendingJob& job);

  Duration cut_to_reservation(const PendingJob& job, Duration length) const;
  bool start_now(const PendingJob& job, Duration asked);
  bool start_shortened(const PendingJob& job);
  bool start_parts(const PendingJob& job, const std::string& partition, Duration length, Group& group);
  bool place_part(JobId id, const model::Request& request, const PendingJob& job, const std::string& partition,
                  Duration length, Group& group);
  void undo(const Group& group);

  /// A component's start foreseen.
  struct Part {
    std::string partition;
    FutureStart start;
  };
  std::optional<std::vector<Part>> earliest_together(const PendingJob& job);
  std::optional<Part> earliest_part(const PendingJob& job, const Component& component, Time from,
                                    const Timeline& timeline);
  static void book(Timeline& timeline, const PendingJob& job, const FutureStart& start);
  void reserve_parts(const PendingJob& job);
  void reserve(const PendingJob& job, JobClass& job_class);
  bool may_reserve(const PendingJob& job) const;
  void claim(const PendingJob& job, const PartitionFacts& partition);
  bool start_by_taking(const PendingJob& job);
  bool make_room(const PendingJob& job, const PartitionFacts& partition, const std::vector<JobId>& candidates);
  std::vector<JobId> candidates_to_take(const PendingJob& job, const PartitionFacts& partition) const;
  void take(JobId job);
  void give_back(JobId job);
  bool fits(const PendingJob& job, const PartitionFacts& partition);

  /// What keeps a job waiting.
  struct Blockage {
    model::WaitReason reason = model::WaitReason::kResources;
    std::string detail;
    bool is_up = false;      ///< Some partition starts jobs.
    bool is_lasting = true;  ///< No promise to others and no wait for something closer has a part in it.
    uint32_t fitting = 0;    ///< Nodes that could take a part.
  };
  void tell_blocked(const PendingJob& job, JobClass& job_class, bool is_known);
  bool is_still_blocked(const PendingJob& job, const JobClass& job_class) const;
  void ask_why(const PendingJob& job, Blockage& blockage);
  std::string why_in(const PendingJob& job, const PartitionFacts& partition, Blockage& blockage);
  void tell(JobClass& job_class, const ClassKey& key, model::WaitReason reason, const std::string& detail);
};

}  // namespace gw::sched
