// Who may go for a blocked job: rules 5 to 8 of docs/quotas.md. A set of victims is judged as a whole, by what is left
// once all of them are gone; so the order in which they are found is no matter. Whether the job fits then is asked by
// the search (sched/cycle/reclaim.h).
#pragma once

#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "sched/quota/cover.h"
#include "sched/quota/quota.h"

namespace gw::sched {

/// A running job that may be preempted.
struct Candidate {
  JobId job;
  uint32_t leaf = 0;  ///< QOS where it runs.
  int64_t priority = 0;
  uint64_t lost = 0;  ///< Work since the last checkpoint: thousandths of a GPU times seconds.
  base::Time started;
  Quantities amounts;               ///< Of a gang without its extensions.
  JobId gang = {};                  ///< Of an extension above an elastic gang's smallest size: the gang.
  uint64_t loss = 1;                ///< As `lost`, with what a restart costs; never 0.
  Ratio beyond = {};                ///< What its QOS holds of its fair share.
  double gain = 0;                  ///< Of an extension: what it is worth to its gang (Order::gain()).
  base::Time protected_until = {};  ///< Since it was preempted before; nobody who waits is delayed for long by it.
  base::Time settled_until = {};
  bool is_settled = false;  ///< It started after its patience: fair shares do not disturb it yet.
};
/// The order of rule 8: extensions, then the lowest priority, the least loss, the QOS furthest beyond its fair share,
/// the extension that is worth least to its gang, the youngest.
bool goes_before(const Candidate& a, const Candidate& b);
/// The lower priority first, then what each of its GPUs costs less; those without GPUs before all others.
bool is_cheaper_by_gpu(const Candidate& a, const Candidate& b);
/// What so many thousandths of its GPUs cost at the least, rounded up; it must hold some.
uint64_t loss_of_part(const Candidate& c, uint64_t milli);

/// Who takes, and what is allowed.
struct Preemptor {
  uint32_t leaf = 0;
  Quantities amounts;
  int64_t priority = 0;
  Reclaim reclaim = Reclaim::kFairShare;
  bool preempts = true;         ///< Rule 7.
  bool may_move_others = true;  ///< Rule 8, moves.
  bool is_growth = false;       ///< A gang that grows: extensions of its own QOS are as good as its own.
  /// It asks for GPUs, and for no more cores and memory than belong to them.
  bool keeps_to_its_gpus = false;
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
    uint32_t qos = 0;
    size_t resource = 0;
    uint64_t asked = 0;
    uint64_t most = 0;
  };
  std::vector<Line> lines_;
};

/// The labels of all running jobs, by the guarantees, and by the fair shares where those count.
struct Covers {
  Cover guaranteed;
  std::optional<Cover> fair;
};

/// By which rules victims may go whose ways part from the preemptor's at one place, if what is covered there is kept.
struct Grounds {
  bool by_children = false;                    ///< Rule 6, which asks for nothing else.
  bool by_guarantee = false, by_fair = false;  ///< The two comparisons of rule 5.
  bool any() const { return by_children || by_guarantee || by_fair; }
};

class Permission {
 public:
  /// `before`: as things are, nobody gone.
  Permission(const Quotas& before, const Preemptor& preemptor, Covers& covers)
      : before_(before), tree_(before.tree()), preemptor_(preemptor), covers_(covers), lines_(before, preemptor) {}

  /// Could the rules ever let it go, whoever goes with it? A quick look that errs towards yes.
  bool could_go(const Candidate& candidate) const;
  /// It is covered at no QOS up to where the paths part, or goes by rule 7. Those go first.
  bool is_borrowed(const Candidate& candidate);
  /// Could all of them go, and be covered by others in their place? No more may go of any QOS than it holds beyond what
  /// is covered there. A quick look that errs towards yes.
  bool leaves_enough(const std::vector<const Candidate*>& gone);
  /// Could the preemptor's own QOS be within what they are due, where those who are gone from `now` are gone? If not
  /// for any of the candidates, nobody else's going helps.
  bool could_be_within(const Quotas& now, const Candidate& candidate) const;
  /// May one more go, where those before it are gone from `now`? Less exact than allows(), for long lists.
  /// `keeps_guarantees`: only where its QOS keep what they are guaranteed, whoever is covered by it.
  bool may_go_next(const Quotas& now, const Candidate& candidate, bool keeps_guarantees) const;
  /// Of one or more, none of the preemptor's own QOS, all of one parting. `after`: with all of them gone.
  Grounds grounds(const Quotas& after, const std::vector<const Candidate*>& gone) const;
  /// May these go, and nobody else? `after`: with all of them gone. `with`: extensions that go with their gangs.
  bool allows(const Quotas& after, const std::vector<const Candidate*>& gone, const std::set<JobId>& with = {});

 private:
  /// Where the way to a victim leaves the preemptor's own.
  struct Parting {
    uint32_t at = kNoQos;    ///< The deepest QOS above both.
    uint32_t own = kNoQos;   ///< The one below it towards the preemptor,
    uint32_t from = kNoQos;  ///< and towards the victim.
    auto operator<=>(const Parting&) const = default;
  };
  const Quotas before_;  // a copy: the trial's own change as jobs are evicted
  const QuotaTree& tree_;
  const Preemptor& preemptor_;
  Covers& covers_;
  const Lines lines_;

  Parting parting(uint32_t leaf) const;
  bool outranks(const Parting& p) const { return tree_.qos(p.at).preempt_children && tree_.qos(p.own).is_own; }
  bool is_outranked(const Parting& p) const { return tree_.qos(p.at).preempt_children && tree_.qos(p.from).is_own; }
  bool goes_by_priority(const Candidate& candidate) const;
  /// An extension of an elastic gang of the own QOS: what is lent to it goes to whoever waits there.
  bool yields(const Candidate& candidate) const;
  /// Cores and memory of GPUs that the preemptor is guaranteed are lent to jobs without GPUs, unless a guarantee of
  /// `cpu` or `mem` covers them.
  bool lends_cores(const Candidate& candidate, const Parting& parting) const;
  bool allows(const Quotas& after, const Parting& parting, const std::vector<const Candidate*>& gone,
              const std::set<JobId>& all);
  bool was_above(const Quotas& now, const Parting& parting, Reclaim mode, const Candidate& candidate) const;
  bool keeps_guarantees(const Quotas& after, const Parting& parting, const std::vector<const Candidate*>& gone) const;
  bool is_ground(Reclaim mode, const Quotas& after, const Parting& parting,
                 const std::vector<const Candidate*>& gone) const;
};

}  // namespace gw::sched
