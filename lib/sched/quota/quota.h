// Who holds how much of what everybody is due, and what follows from it: who is served next, who may start, who may
// take from whom. Rules 3 to 7 of design section 6; docs/quotas.md explains them with examples. Invariant: what a QOS
// holds is the sum of what its children hold.
#pragma once

#include <map>
#include <memory>
#include <unordered_map>

#include "sched/quota/fair_share.h"

namespace gw::sched {

using base::JobId;

using model::Reclaim;

/// Highest Policy::fairness_over_time.
constexpr double kMaxFairnessOverTime = 1000;

/// A fraction of what somebody is due; more than all of it above 1. Anything of nothing is infinite, nothing of
/// nothing is 0.
struct Ratio {
  uint64_t of = 0;
  uint64_t whole = 1;
  static Ratio make(uint64_t of, uint64_t whole);
  bool operator<(const Ratio& o) const;
  bool operator==(const Ratio& o) const { return !(*this < o) && !(o < *this); }
  double value() const;
};

/// Sums by QOS; what a QOS has is what its children have together.
struct Tally {
  std::vector<Quantities> held;
  /// Held by those that stay, or kept for those for whom others are leaving.
  std::vector<Quantities> counted;
  std::vector<Quantities> firm;                                  ///< Of `counted`, by jobs that can never be preempted.
  std::map<std::pair<uint32_t, uint32_t>, Quantities> of_users;  ///< Held by (QOS, uid), where users have limits.

  explicit Tally(const QuotaTree& tree) : held(tree.nodes().size(), tree.none()), counted(held), firm(held) {}
  void start(const QuotaTree& tree, uint32_t leaf, const Quantities& amounts, bool preemptible, uint32_t uid = 0);
  void stop(const QuotaTree& tree, uint32_t leaf, const Quantities& amounts, bool preemptible, uint32_t uid = 0);
  /// What was sent off no longer holds either.
  void leave(const QuotaTree& tree, uint32_t leaf, const Quantities& amounts, uint32_t uid = 0);
  /// It was told to go: it still holds, but no longer counts.
  void send_off(const QuotaTree& tree, uint32_t leaf, const Quantities& amounts, bool preemptible);
  /// It counts, but need not hold anything yet: others leave for it.
  void count(const QuotaTree& tree, uint32_t leaf, const Quantities& amounts, bool preemptible);
};

/// The ledger that the scheduler's view keeps: what each QOS holds, and what waits there.
class QuotaLedger {
 public:
  struct Holder {
    uint32_t leaf = 0;
    Quantities amounts;
    bool preemptible = true;
    bool is_leaving = false;  ///< It was told to go: what it holds is nobody's any more.
    uint32_t uid = 0;
    bool is_without_gpus = false;
  };

  const QuotaTree& tree() const { return tree_; }
  const Quantities& capacity() const { return capacity_; }
  const std::vector<Quantities>& waiting() const { return waiting_; }
  const std::unordered_map<JobId, Holder>& holders() const { return holders_; }
  const Tally& tally() const { return tally_; }
  const Past& past() const { return past_; }
  const SharePolicy& share_policy() const { return *share_policy_; }
  const Holder* holder(JobId job) const;
  /// Does anybody hold something, and no GPU?
  bool has_any_without_gpus() const { return without_gpus_ > 0; }

  /// Empties the ledger: everything has to be told again.
  void set_tree(QuotaTree tree);
  void add_capacity(const Quantities& amounts) { add_to(capacity_, amounts); }
  void remove_capacity(const Quantities& amounts) { take_from(capacity_, amounts); }
  void add_waiting(const PendingJob& job);
  void remove_waiting(const PendingJob& job);
  void hold(JobId job, const std::string& qos, uint32_t uid, bool preemptible, const Quantities& amounts);
  void set_leaving(JobId job);
  /// What a running elastic gang of a QOS could still grow by, which is demand too. Nothing of no amounts.
  void set_growth(JobId gang, const std::string& qos, const Quantities& amounts);
  void release(JobId job, const Quantities& amounts);
  /// It holds nothing any more; what was not released counts as released.
  void forget(JobId job);
  /// How a surplus is divided; null: by weight.
  void set_share_policy(const std::shared_ptr<const SharePolicy>& policy);
  /// What the jobs of each QOS have used, in GPU-seconds, and how much that counts (Policy::fairness_over_time).
  void set_past(double strength, const std::map<std::string, double>& use);

 private:
  QuotaTree tree_;
  Quantities capacity_ = tree_.none();
  std::vector<Quantities> waiting_ = {tree_.none()};  // by QOS, of the jobs at it
  std::unordered_map<JobId, Holder> holders_;
  size_t without_gpus_ = 0;                                  // of the holders, from when they began to hold
  std::map<JobId, std::pair<uint32_t, Quantities>> growth_;  // in waiting_, by leaf
  Tally tally_{tree_};
  Past past_;
  std::shared_ptr<const SharePolicy> share_policy_ = share_by_weight();
};

/// What a limit or a guarantee stands in the way of.
struct Binding {
  uint32_t qos = 0;
  size_t resource = 0;
  uint64_t held = 0;   ///< Without the job.
  uint64_t bound = 0;  ///< The limit or guarantee.
  uint64_t asked = 0;
  bool is_limit = true;
  bool is_of_user = false;  ///< A limit of each user's jobs.
};

/// How a QOS stands with a job counted.
enum class Standing : uint8_t { kGuaranteed, kFair, kBorrowing };

/// Why one job may take from another.
struct Permit {
  int rule = 5;
  Reclaim by = Reclaim::kFairShare;  ///< Of rule 5: by which comparison.
};

/// A trial of the ledger: what would be held after what has been decided so far. Cheap to copy.
class Quotas {
 public:
  explicit Quotas(const QuotaLedger& ledger);
  /// Shares are as if so much more waited at a QOS: who wants nothing is due nothing of a surplus. Before anything was
  /// decided; an earlier wish is forgotten.
  void want(const QuotaLedger& ledger, uint32_t leaf, const Quantities& wish);
  /// Would the shares be the same, however much more waited at a QOS of what a job asks for? False where that is not
  /// known.
  bool has_enough_waiting(uint32_t leaf, const Quantities& amounts) const;

  const QuotaTree& tree() const { return *tree_; }
  const Shares& shares() const { return *shares_; }
  const Tally& tally() const { return tally_; }

  // As Tally's.
  void start(uint32_t leaf, const Quantities& amounts, bool preemptible, uint32_t uid = 0) {
    tally_.start(*tree_, leaf, amounts, preemptible, uid);
    look_again(leaf);
  }
  void stop(uint32_t leaf, const Quantities& amounts, bool preemptible, uint32_t uid = 0) {
    tally_.stop(*tree_, leaf, amounts, preemptible, uid);
    look_again(leaf);
  }
  void start(const QuotaLedger::Holder& h) { start(h.leaf, h.amounts, h.preemptible, h.uid); }
  void stop(const QuotaLedger::Holder& h) { stop(h.leaf, h.amounts, h.preemptible, h.uid); }
  void send_off(uint32_t leaf, const Quantities& amounts, bool preemptible) {
    tally_.send_off(*tree_, leaf, amounts, preemptible);
    look_again(leaf);
  }
  void count(uint32_t leaf, const Quantities& amounts, bool preemptible) {
    tally_.count(*tree_, leaf, amounts, preemptible);
    look_again(leaf);
  }

  /// Rule 3. All resources with a line.
  Standing standing(uint32_t qos, const Quantities& with) const;
  /// The largest part of its fair share, over all resources with a line.
  Ratio dominant(uint32_t qos) const { return dominant(qos, tree_->none()); }
  Ratio dominant(uint32_t qos, const Quantities& with) const;
  /// Would the job be within the guarantees of all QOS above it?
  bool is_guaranteed(uint32_t leaf, const Quantities& amounts) const;
  /// The tightest limit that a start would exceed.
  std::optional<Binding> limit_in_way(uint32_t leaf, const Quantities& amounts, uint32_t uid) const;
  /// All limits that a start would exceed, the tightest first.
  std::vector<Binding> limits_in_way(uint32_t leaf, const Quantities& amounts, uint32_t uid) const;
  /// Rule 4: what keeps a job out that can never be preempted.
  std::optional<Binding> guarantee_in_way(uint32_t leaf, const Quantities& amounts) const;

  /// Rule 5: does the QOS stay within what it is due, in what the job asks for? `by` is not kNone.
  bool stays_within(uint32_t qos, const Quantities& amounts, Reclaim by) const;
  /// Rule 5: does the QOS hold more than it is due, the dead zone included, of anything that the job asks for, `own` is
  /// due a part of, and the victim, if there is one, holds some of?
  bool is_above(uint32_t qos, uint32_t own, const Quantities& amounts, Reclaim by,
                const Quantities* victim = nullptr) const;
  /// The same of a victim who is gone: would the QOS be above, with it alone back?
  bool would_be_above(uint32_t qos, uint32_t own, const Quantities& amounts, Reclaim by,
                      const Quantities& victim) const;
  /// The same of one who was not gone `before`, by what is due now.
  bool was_above(const Tally& before, uint32_t qos, uint32_t own, const Quantities& amounts, Reclaim by,
                 const Quantities& victim) const;
  /// The same without the dead zone: of one that was above before others of its were taken. `is_back`: the victim is
  /// gone, and counts as if it were back.
  bool is_beyond_due(uint32_t qos, uint32_t own, const Quantities& amounts, Reclaim by, const Quantities& victim,
                     bool is_back) const;
  /// Could it stay within what it is due, if nothing else of its own ran?
  bool could_stay_within(uint32_t qos, const Quantities& amounts, Reclaim by) const;
  /// Does what is left keep every QOS from `leaf` up to, without, `above` at its guarantee?
  bool leaves_guarantees(uint32_t leaf, uint32_t above, const Quantities& amounts) const;
  /// Rules 5 and 6: may a job at `preemptor` take a victim, or else anybody, of the QOS `from`, whose parent is above
  /// both and not `preemptor`'s leaf?
  std::optional<Permit> may_take(uint32_t preemptor, const Quantities& amounts, uint32_t from, Reclaim reclaim,
                                 const Quantities* victim = nullptr) const;
  /// The same of any QOS beside the way up from the preemptor.
  bool may_take_from_any(uint32_t preemptor, const Quantities& amounts, Reclaim reclaim) const;

 private:
  /// Who is looked at, for whom, and what that asks for.
  struct Sides {
    uint32_t from = 0, own = 0;
    const Quantities& amounts;
    const Tally& tally;
  };
  bool is_beyond(const Sides& sides, const Quantities* victim, bool is_back, Reclaim by, bool has_zone = true) const;
  const QuotaTree* tree_;
  std::shared_ptr<const Shares> shares_;
  Tally tally_;
  std::vector<bool> is_over_;  // by QOS: it holds more than it is due of something, so that somebody may take from it
  std::vector<uint32_t> over_below_;  // by QOS: how many of its children do

  /// `demand`: what waits, by QOS.
  void share_out(const QuotaLedger& ledger, std::vector<Quantities> demand);

  bool is_over(uint32_t qos) const;
  void set_over(uint32_t qos, bool is_over);
  /// Calls `visit` with each limit that a start would exceed, until it returns false.
  template <typename Visit>
  void each_limit(uint32_t leaf, const Quantities& amounts, uint32_t uid, const Visit& visit) const;
  void look_again(uint32_t leaf) {
    for (uint32_t s = leaf; s != kNoQos; s = tree_->qos(s).parent) set_over(s, is_over(s));
  }
};

}  // namespace gw::sched
