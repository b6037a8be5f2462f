// Of which QOS a job could take a running job now, and it alone: rules 5, 6 and 8 of docs/quotas.md, by the judgement
// of the victim search (sched/quota/permission.h). Asked is on behalf of a job that wants the least of what the victim
// holds and waits for it; so its QOS is due a part of a surplus also where nothing else waits there. Costs: for each
// pair of a QOS and a kind of victims a comparison, a walk over the jobs beside those that are covered, one for all
// that stand alike, and for each QOS that has no more waiting than it is due a division into fair shares; kMostSteps in
// all, by guarantees first. Nothing more is asked about a victim for whom enough were found.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "sched/quota/permission.h"
#include "sched/view/view.h"

namespace gw::sched {

constexpr size_t kMostPreemptors = 8;     ///< That are named.
constexpr size_t kMostSteps = 1'000'000;  ///< For one answer; a step takes some ten nanoseconds.

/// A running job that could be preempted, as a whole.
struct Victim {
  Candidate candidate;
  Quantities all;         ///< With its extensions.
  std::set<JobId> parts;  ///< It and its extensions.
};

/// Steps that are left.
class Steps {
 public:
  explicit Steps(size_t most = kMostSteps) : left_(most) {}
  /// False, and nothing is left, if that is too much.
  bool spend(size_t count) {
    const bool is_enough = count <= left_;
    left_ = is_enough ? left_ - count : 0;
    are_used_up_ |= !is_enough;
    return is_enough;
  }
  bool are_used_up() const { return are_used_up_; }

 private:
  size_t left_;
  bool are_used_up_ = false;
};

/// What the ledger counts, with the places that are kept for those who were nominated.
Quotas quotas_with_kept(const ClusterView& view);

class Preemptors {
 public:
  struct Answer {
    std::vector<uint32_t> some;  ///< At most kMostPreemptors QOS; those that could by their guarantee come first.
    bool is_cut = false;         ///< There are more, or, the steps being used up, may be others.
  };

  /// The labels are of the view as it stands, and are so again in the end.
  Preemptors(const ClusterView& view, Covers& covers, size_t most_steps = kMostSteps);
  Preemptors(const Preemptors&) = delete;
  Preemptors& operator=(const Preemptors&) = delete;
  /// By victim.
  std::vector<Answer> of(const std::vector<Victim>& victims);

 private:
  /// Victims that stand alike by the guarantees; by their place in the list.
  struct Alike {
    std::vector<size_t> victims;
    std::map<uint32_t, bool> keeps;  // up to a QOS: is what is covered not less without one of them?
  };
  /// Victims of one QOS that hold the same.
  struct Kind {
    uint32_t leaf = 0;
    Quantities all, asked;
    std::map<std::vector<uint32_t>, Alike> alike;
    size_t open = 0;  // victims about whom there is more to ask
  };
  const ClusterView& view_;
  const QuotaTree& tree_;
  Covers& covers_;
  const Quotas quotas_;
  Quotas after_;      // without whoever is asked about, and with the shares that are asked by
  Preemptor asking_;  // at ever another QOS
  Permission permission_;
  Steps steps_;
  const std::vector<Victim>* victims_ = nullptr;
  std::vector<Answer> answers_;
  std::vector<bool> full_;  // likewise: enough were found
  std::vector<Kind> kinds_;

  void sort_out();
  /// Which grounds are asked for: those that do not depend on what waits, or fair shares alone, or all.
  enum class By { kDue, kFair, kAll };
  void ask_all(std::vector<Kind*> kinds);
  void ask(By by, std::vector<Kind*>& kinds);
  void ask(By by, Kind& kind);
  std::vector<bool> within(By by) const;
  void ask_by_labels(Kind& kind, uint32_t top, bool by_fair, Alike& alike);
  void ask_by_fair(Kind& kind, uint32_t top, const Alike& alike);
  void add(Kind& kind, const Alike& alike);
  std::vector<uint32_t> standing(Cover& cover, size_t victim, uint32_t top) const;
  /// nullopt: the steps are used up.
  std::optional<bool> keeps(Cover& cover, size_t victim, uint32_t top);
};

}  // namespace gw::sched
