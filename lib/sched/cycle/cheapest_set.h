// The cheapest victims of one place, by trial: all of its candidates are evicted, then, the dearest first, each is
// spared if the served job still fits. That is the first set; branch and bound finds whether another is cheaper or,
// where the rules do not allow the first, another at all. Evicting more never makes a job fit less, so that a branch
// ends where it does not fit any more. Invariant: the trial is afterwards as it was before.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <vector>

#include "sched/cycle/loss.h"
#include "sched/cycle/session.h"

namespace gw::sched {

/// Places with no more candidates are searched completely.
constexpr size_t kMostExact = 16;

/// So many sets are tried with moves for one job.
constexpr size_t kMostRelocations = 256;

/// Where a job could be made to fit.
struct PlaceToClear {
  const std::vector<NodeId>* nodes = nullptr;  ///< Null: anywhere in the partition.
  std::vector<const Candidate*> candidates;    ///< In the order of rule 8.
  uint64_t free_milli = 0;  ///< GPUs that are free there, in thousandths; of shared ones what is left.
};

struct VictimSet {
  std::vector<const Candidate*> victims;
  Loss loss;
  std::vector<const Candidate*> moved = {};  ///< Of the victims: they start again elsewhere at once, in this order.
};

class CheapestSet {
 public:
  CheapestSet(Session& session, const Served& served, const PartitionFacts& partition, const Preemptor& preemptor,
              Permission& permission);

  /// The cheapest set of a place with few candidates, if there is one that is cheaper than `bound`.
  std::optional<VictimSet> search(const PlaceToClear& place, const std::optional<VictimSet>& bound);
  /// Of a place with many: they go in this order, as far as the rules let them, until the job fits; then everybody who
  /// is not needed is spared. `may_go`: who is asked at all; only as far as it is needed.
  std::optional<VictimSet> sweep(const PlaceToClear& place, const std::vector<const Candidate*>& order,
                                 bool keeps_guarantees, const std::function<bool(const Candidate&)>& may_go);
  /// From now on those who are covered go, too, as far as others are covered in their place.
  void allow_covered() { has_covered_ = true; }
  /// From now on also if they can be moved: so many, at the least possible loss of `borrowed`.
  void allow_moves(std::vector<const Candidate*> borrowed, size_t most);
  /// So many sets were tried with moves that no more are.
  bool is_spent() const { return relocations_ > kMostRelocations; }
  /// GPUs that the job needs, in thousandths, where they can be told by number; else 0.
  uint64_t needs_milli() const { return needs_milli_; }

 private:
  struct Branch {
    std::vector<const Candidate*> gone;
    Loss loss;
    uint64_t freed = 0;  ///< Thousandths of GPUs, by those who are gone.
  };
  Session& session_;
  const Served& served_;
  const PartitionFacts& partition_;
  Permission& permission_;
  uint64_t needs_milli_ = 0;
  const PlaceToClear* place_ = nullptr;
  std::optional<VictimSet> best_;
  std::vector<const Candidate*> by_rate_;  // the candidates by what each GPU costs
  size_t tries_ = 0;
  std::vector<const Candidate*> borrowed_;  // who may leave their places to those who are moved
  size_t most_moves_ = 0;
  bool has_covered_ = false;
  size_t relocations_ = 0;

  bool fits_there(Duration grace = {}) const;
  void decide(size_t undecided, Branch& branch);
  void spare_or_not(size_t undecided, Branch& branch);
  Loss least_more(size_t undecided, const Branch& branch) const;
  bool could_do_without(size_t undecided, const Branch& branch) const;
  bool is_allowed(const std::vector<const Candidate*>& gone);
  std::optional<VictimSet> accept(const std::vector<const Candidate*>& gone, const Loss& loss);
  bool goes_anyway(const Candidate& candidate) const;
  std::vector<const Candidate*> evict_until_fits(const std::vector<const Candidate*>& order, bool keeps_guarantees,
                                                 const std::function<bool(const Candidate&)>& may_go);
  void spare_the_unneeded(std::vector<const Candidate*>& gone);
};

}  // namespace gw::sched
