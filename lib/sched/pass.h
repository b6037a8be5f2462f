// The working of one plan(): what has been decided so far, and the trial of it on the view.
// Invariant: when run() returns, the view's ledger is as it was.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "sched/closeness.h"
#include "sched/earliest.h"
#include "sched/order_facts.h"
#include "sched/place.h"
#include "sched/plan.h"
#include "sched/timeline.h"
#include "sched/turns.h"
#include "sched/victims.h"

namespace gw::sched {

/// A limit longer than the partition's keeps a job out of it, unless no partition that it names is long enough: then an
/// administrator let it in.
bool allows_time(const Capacity& capacity, const PendingJob& job, const PartitionFacts& partition);

class Pass {
 public:
  Pass(ClusterView& view, Time now, const Budget& budget);
  Plan run();

 private:
  /// A class in the course of the pass.
  struct Progress {
    const ClassKey* key = nullptr;
    JobClass* job_class = nullptr;
    std::map<Rank, PendingJob>::const_iterator next;
    uint32_t leaf = 0;   ///< Of the tree of quotas.
    Quantities amounts;  ///< That each of its jobs counts at the least.
    bool is_blocked = false;
  };
  /// The job whose turn it is, as the quotas see it.
  struct Served {
    uint32_t leaf = 0;
    const Quantities* amounts = nullptr;
    const ClassKey* key = nullptr;
    bool is_guaranteed = true;  ///< With it every side above it stays within its guarantee.
  };
  enum class Outcome { kStarted, kBlocked, kLimited, kClaimed, kRejected };

  ClusterView& view_;
  const Time now_;
  const Budget& budget_;
  const Order& order_;
  const OrderFacts facts_;
  Quotas quotas_;
  Turns turns_;
  Timeline timeline_;
  Timeline firm_;  // without promises to borrowers; kept only where there are quotas
  Plan plan_;
  std::vector<Progress> progress_;  // by number of the class; made once, so that each stays where it is
  Served served_;
  uint64_t placements_ = 0;
  uint64_t spent_ = 0;                               // of the budget of placements
  std::unordered_map<uint32_t, uint64_t> spent_by_;  // by users, on classes that are theirs alone
  uint64_t allowance_ = 0;                           // of each
  uint64_t starts_ = 0;
  size_t moved_ = 0;  // jobs, in this pass
  JobId next_piece_;
  std::vector<JobId> tentative_;              // allocated in the view for this pass only
  std::map<JobId, model::Allocation> taken_;  // running jobs released in the view for this pass only
  std::map<JobId, Holding> taken_holdings_;
  std::map<JobId, std::vector<JobId>> taken_with_;  // a job, and the parts of it that were taken with it
  std::map<JobId, Quantities> left_by_;             // what taken ones keep in suspension
  std::set<JobId> sent_off_;                        // they leave within their grace
  std::set<JobId> claimed_;                         // others are leaving for them
  std::set<JobId> honoured_;                        // they started where others have left for them
  std::optional<Binding> refused_;                  // what the job last placed would have exceeded
  std::optional<Candidates> candidates_;
  std::optional<std::vector<JobId>> leaving_;                        // told to go before this pass
  std::map<std::string, uint32_t> reserved_in_;                      // blocked jobs that got a promise, or could have
  std::map<std::pair<uint32_t, std::string>, JobId> first_blocked_;  // by leaf of the tree and partition
  std::map<std::string, Census> failed_;                             // of the job last tried, by partition

  Capacity& capacity() { return view_.capacity(); }
  void book_advance_reservations();
  void honour_claims();
  void keep_for_mover(const Claim& claim);
  bool still_holds(const Claim& claim, const PendingJob& job) const;
  bool is_free_beside_claims(const model::NodeShare& share) const;
  void begin_class(const ClassKey& key, JobClass& job_class);
  std::optional<Turn> next_turn(Progress& progress);
  void serve(const Turn& turn);
  void look_at(Progress& progress, JobClass& job_class, bool is_passed);
  void put_off(const PendingJob& job, uint32_t uid);
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
  bool keeps_quotas(const PendingJob& job, const Group& group);
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
  const Timeline& promises() const;
  void promise(const PendingJob& job, const FutureStart& start);
  void reserve_parts(const PendingJob& job);
  void reserve(const PendingJob& job);
  bool may_reserve(const PendingJob& job) const;
  /// The next job to take, or nobody.
  using NextVictim = std::function<std::optional<JobId>()>;
  bool start_by_moving(const PendingJob& job);
  bool move_out_of_the_way(const PendingJob& job, const PartitionFacts& partition);
  size_t moves_left(const PartitionFacts& partition);
  std::vector<Candidate> movable(const PendingJob& job, const PartitionFacts& partition);
  bool try_moving(const PendingJob& job, const PartitionFacts& partition, const std::vector<JobId>& movers);
  bool rearrange(const PendingJob& job, const PartitionFacts& partition, const std::vector<JobId>& movers);
  bool place_again(JobId mover, Group& group);
  void tell_moves(const PendingJob& job, const std::string& partition, const Group& placed);
  void keep_places(const PendingJob& job, const std::vector<JobId>& movers, Duration grace, const Group& placed,
                   Group& group);
  bool start_by_taking(const PendingJob& job);
  bool start_in_place_of(const PendingJob& job, const std::string& partition, const std::vector<JobId>& victims);
  std::vector<JobId> victims_by_quota(const PendingJob& job, const PartitionFacts& partition);
  std::vector<JobId> victims_by_order(const PendingJob& job, const PartitionFacts& partition);
  /// For whom room is made. By the rules of the quotas, if there is a taker.
  struct Guest {
    const PendingJob& job;
    const PartitionFacts& partition;
    const Taker* taker = nullptr;
    std::optional<Lines> lines = std::nullopt;  ///< To be kept if anybody goes by rule 7.
    bool is_beyond = false;                     ///< There was room, but the lines were not kept.
  };
  std::vector<JobId> make_room(Guest& guest, const NextVictim& next);
  bool is_rival(const Guest& guest, JobId victim) const;
  bool has_rival(const Guest& guest, const std::vector<JobId>& victims) const;
  bool has_room(const Guest& guest, bool has_rivals);
  void spare_the_unneeded(const Guest& guest, std::vector<JobId>& victims);
  bool are_still_allowed(const Taker& taker, const std::vector<JobId>& kept, const std::vector<JobId>& spared);
  std::vector<JobId> outranked(const PendingJob& job, const PartitionFacts& partition) const;
  const Candidates& candidates();
  void strike(const std::vector<JobId>& gone);
  bool may_take_any(const PendingJob& job) const;
  const std::vector<JobId>& leaving();
  bool fits_soon(const PendingJob& job, const PartitionFacts& partition);
  bool can_be_taken(JobId id, const PendingJob& job) const;
  bool is_of_use(const Candidate& candidate, const PendingJob& job, const PartitionFacts& partition,
                 const std::optional<Binding>& limited);
  std::vector<JobId> victims_for(const PendingJob& job, const PartitionFacts& partition, const Taker& taker);
  std::vector<JobId> victims_among(const PendingJob& job, const PartitionFacts& partition, const Taker& taker,
                                   const Candidates& listed, Victims& rules);
  using IsOfUse = std::function<bool(const Candidate&)>;
  /// A node that others could leave, and who is on it.
  struct Clearing;
  std::vector<Clearing> clearings(const PendingJob& job, const PartitionFacts& partition, const IsOfUse& is_of_use,
                                  Victims& rules);
  std::vector<JobId> victims_by_node(const PendingJob& job, const PartitionFacts& partition, const Taker& taker,
                                     const IsOfUse& is_of_use, Victims& rules);
  std::optional<Claim> claim(const PendingJob& job, const PartitionFacts& partition, Duration grace);
  bool start_after_grace(const PendingJob& job, const PartitionFacts& partition, const std::vector<JobId>& victims,
                         Duration grace, Group group);
  Duration grace_of(JobId victim) const;

  // pass_suspend.cc
  bool leaves_enough_suspended(JobId victim, const PendingJob& job, const PartitionFacts& partition);
  void leave_nothing(JobId victim);
  Duration grace_before_suspension(JobId victim) const;
  int rule_of(JobId victim, const PendingJob& job) const;
  std::vector<JobId> parts_of(JobId job) const;
  std::vector<JobId> parts_left(JobId job) const;
  void take(JobId job);
  void give_back(JobId job);
  bool can_stand(JobId piece) const;
  void grow_gangs();
  bool may_grow(JobId gang) const;
  void grow(JobId id);
  uint32_t grow_by_piece(const PendingJob& gang, uint32_t tasks, std::vector<std::string>& nodes, Group& group);
  std::optional<model::Allocation> place_piece(const PendingJob& piece, const PendingJob& gang,
                                               const std::vector<std::string>& nodes);
  void take_part(JobId part);
  void give_back_part(JobId part);
  bool fits(const PendingJob& job, const PartitionFacts& partition);
  std::optional<Quantities> given(const PendingJob& job, const PartitionFacts& partition);
  std::optional<Binding> in_way(const PendingJob& job, const Quantities& amounts) const;

  /// What keeps a job waiting.
  struct Blockage {
    model::WaitReason reason = model::WaitReason::kResources;
    std::string detail;
    bool is_up = false;      ///< Some partition starts jobs.
    bool is_lasting = true;  ///< No promise to others and no wait for something closer has a part in it.
    uint32_t fitting = 0;    ///< Nodes that could take a part.
  };
  void tell_bound(JobClass& job_class, const Binding& binding);
  std::string quota_note() const;
  void tell_blocked(const PendingJob& job, JobClass& job_class, bool is_known);
  bool is_still_blocked(const PendingJob& job, const JobClass& job_class) const;
  void ask_why(const PendingJob& job, Blockage& blockage);
  std::string why_in(const PendingJob& job, const PartitionFacts& partition, Blockage& blockage);
  void tell(JobClass& job_class, const ClassKey& key, model::WaitReason reason, const std::string& detail);
};

}  // namespace gw::sched
