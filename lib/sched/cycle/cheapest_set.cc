// See cheapest_set.h.
#include "sched/cycle/cheapest_set.h"

#include <algorithm>

#include "sched/cycle/relocation.h"
#include "sched/cycle/victim_search.h"
#include "sched/place/node_filter.h"

namespace gw::sched {
namespace {

/// However the candidates of a place lie, no more trials than this are made there.
constexpr size_t kMostTries = size_t{1} << kMostExact;

}  // namespace

CheapestSet::CheapestSet(Session& session, const Served& served, const PartitionFacts& partition,
                         const Preemptor& preemptor, Permission& permission)
    : session_(session), served_(served), partition_(partition), permission_(permission) {
  const bool is_plain = served.job.components.empty() && !NodeFilter(served.job.request, partition).is_shared();
  if (is_plain) needs_milli_ = preemptor.amounts[kGpu];
}

bool CheapestSet::fits_there(Duration grace) const { return fits(session_, served_, partition_, place_->nodes, grace); }

std::optional<VictimSet> CheapestSet::search(const PlaceToClear& place, const std::optional<VictimSet>& bound) {
  place_ = &place;
  best_ = bound;
  tries_ = 0;
  by_rate_ = place.candidates;
  std::erase_if(by_rate_, [](const Candidate* c) { return c->amounts[kGpu] == 0; });
  std::stable_sort(by_rate_.begin(), by_rate_.end(),
                   [](const Candidate* a, const Candidate* b) { return is_cheaper_by_gpu(*a, *b); });
  const Trial::Mark mark = session_.trial.mark();
  for (const Candidate* c : place.candidates) session_.trial.evict(c->job);
  Branch branch;
  const auto could_be_within = [this](const Candidate* c) {
    return permission_.could_be_within(session_.quotas(), *c);
  };
  const bool has_hope = std::any_of(place.candidates.begin(), place.candidates.end(), could_be_within);
  if (has_hope && fits_there()) decide(place.candidates.size(), branch);
  session_.trial.rollback(mark);
  const bool is_found = best_ && (!bound || best_->loss < bound->loss);
  return is_found ? best_ : std::nullopt;
}

/// The first `undecided` of the candidates are still evicted, and the job fits.
void CheapestSet::decide(size_t undecided, Branch& branch) {
  if (is_spent()) return;
  if (has_covered_ && most_moves_ == 0 && !permission_.leaves_enough(branch.gone)) return;
  if (best_) {
    Loss least = least_more(undecided, branch);
    if (!(least < best_->loss)) return;
  }
  if (undecided > 0) return spare_or_not(undecided, branch);
  auto found = accept({branch.gone.rbegin(), branch.gone.rend()}, branch.loss);
  if (found && (!best_ || found->loss < best_->loss)) best_ = std::move(found);
}

void CheapestSet::allow_moves(std::vector<const Candidate*> borrowed, size_t most) {
  borrowed_ = std::move(borrowed);
  most_moves_ = most;
}

/// They are gone, and the job fits.
std::optional<VictimSet> CheapestSet::accept(const std::vector<const Candidate*>& gone, const Loss& loss) {
  if (most_moves_ == 0 && is_allowed(gone)) return VictimSet{gone, loss};  // with moves it was found before
  if (most_moves_ == 0 || gone.empty() || ++relocations_ > kMostRelocations) return std::nullopt;
  auto moves = find_relocation(session_, served_, partition_, permission_, gone, borrowed_, most_moves_);
  if (!moves) return std::nullopt;
  VictimSet out{gone, loss, std::move(moves->moved)};
  for (const Candidate* c : moves->more) {
    out.victims.push_back(c);
    out.loss.add(*c);
  }
  return out;
}

void CheapestSet::spare_or_not(size_t undecided, Branch& branch) {
  const Candidate& c = *place_->candidates[undecided - 1];
  if (goes_anyway(c)) return decide(undecided - 1, branch);
  if (could_do_without(undecided, branch) && ++tries_ <= kMostTries) {
    const Trial::Mark mark = session_.trial.mark();
    session_.trial.spare(c.job);
    if (fits_there()) decide(undecided - 1, branch);
    session_.trial.rollback(mark);
  }
  const Loss before = branch.loss;
  branch.gone.push_back(&c);
  branch.loss.add(c);
  branch.freed += c.amounts[kGpu];
  decide(undecided - 1, branch);
  branch.gone.pop_back();
  branch.loss = before;
  branch.freed -= c.amounts[kGpu];
}

/// What the branch will lose at the least: of the GPUs that are missing those that cost least, cut to measure.
Loss CheapestSet::least_more(size_t undecided, const Branch& branch) const {
  Loss loss = branch.loss;
  const uint64_t have = place_->free_milli + branch.freed;
  if (needs_milli_ <= have || undecided == 0) return loss;
  uint64_t missing = needs_milli_ - have, lost = 0;
  const auto& all = place_->candidates;
  int64_t priority = INT64_MIN;
  for (const Candidate* c : by_rate_) {
    const auto at = std::find(all.begin(), all.begin() + static_cast<ptrdiff_t>(undecided), c);
    if (at == all.begin() + static_cast<ptrdiff_t>(undecided)) continue;
    if (c->priority != priority) lost = 0;  // what goes at a lower priority is not counted
    priority = c->priority;
    const uint64_t part = std::min(missing, c->amounts[kGpu]);
    lost += loss_of_part(*c, part);
    missing -= part;
    if (missing == 0) break;
  }
  if (lost > 0) loss.add(priority, lost);
  return loss;
}

/// By the number of GPUs alone.
bool CheapestSet::could_do_without(size_t undecided, const Branch& branch) const {
  uint64_t have = place_->free_milli + branch.freed;
  for (size_t i = 0; i + 1 < undecided && have < needs_milli_; ++i) have += place_->candidates[i]->amounts[kGpu];
  return have >= needs_milli_;
}

/// An extension whose gang is gone.
bool CheapestSet::goes_anyway(const Candidate& candidate) const { return !session_.trial.may_stay(candidate.job); }

bool CheapestSet::is_allowed(const std::vector<const Candidate*>& gone) {
  if (gone.empty()) return false;
  std::set<JobId> with;
  Duration grace = {};
  for (const Candidate* c : gone) {
    for (JobId part : session_.trial.parts_of(c->job)) with.insert(part);
    grace = std::max(grace, grace_of(session_, c->job));
  }
  return permission_.allows(session_.quotas(), gone, with) && (grace.us == 0 || fits_there(grace));
}

// ---- Many candidates

std::optional<VictimSet> CheapestSet::sweep(const PlaceToClear& place, const std::vector<const Candidate*>& order,
                                            bool keeps_guarantees,
                                            const std::function<bool(const Candidate&)>& may_go) {
  place_ = &place;
  const Trial::Mark mark = session_.trial.mark();
  std::vector<const Candidate*> gone = evict_until_fits(order, keeps_guarantees, may_go);
  std::optional<VictimSet> out;
  if (!gone.empty()) {
    spare_the_unneeded(gone);
    Loss loss;
    for (const Candidate* c : gone) loss.add(*c);
    out = accept(gone, loss);
  }
  session_.trial.rollback(mark);
  return out;
}

/// In growing strides: whether the job fits is asked after the first, the next two, the next four, and so on.
std::vector<const Candidate*> CheapestSet::evict_until_fits(const std::vector<const Candidate*>& order,
                                                            bool keeps_guarantees,
                                                            const std::function<bool(const Candidate&)>& may_go) {
  std::vector<const Candidate*> gone;
  size_t next_try = 1;
  for (size_t i = 0; i < order.size(); ++i) {
    const Candidate& c = *order[i];
    const bool goes =
        !session_.trial.is_evicted(c.job) && permission_.may_go_next(session_.quotas(), c, keeps_guarantees);
    if (!goes || !may_go(c)) continue;
    session_.trial.evict(c.job);
    gone.push_back(&c);
    if (gone.size() < next_try) continue;
    if (fits_there()) return gone;
    next_try = 2 * gone.size();
  }
  if (gone.empty() || !fits_there()) return {};
  return gone;
}

/// The dearest first, in strides that grow while all of them can stay.
void CheapestSet::spare_the_unneeded(std::vector<const Candidate*>& gone) {
  Trial& trial = session_.trial;
  std::stable_sort(gone.begin(), gone.end(),
                   [](const Candidate* a, const Candidate* b) { return goes_before(*a, *b); });
  std::vector<const Candidate*> needed;
  bool was_allowed = is_allowed(gone);
  for (size_t stride = 1; !gone.empty();) {
    stride = std::min(stride, gone.size());
    const std::vector<const Candidate*> tried(gone.end() - static_cast<ptrdiff_t>(stride), gone.end());
    std::vector<const Candidate*> kept(gone.begin(), gone.end() - static_cast<ptrdiff_t>(stride));
    kept.insert(kept.end(), needed.begin(), needed.end());
    const Trial::Mark mark = trial.mark();
    for (const Candidate* c : tried) trial.spare(c->job);
    const bool may_stay =
        std::all_of(tried.begin(), tried.end(), [&](const Candidate* c) { return trial.may_stay(c->job); });
    const bool is_enough = may_stay && fits_there();
    const bool is_now_allowed = is_enough && is_allowed(kept);
    if (is_enough && (is_now_allowed || !was_allowed)) {
      was_allowed = is_now_allowed;
      gone.resize(gone.size() - stride);
      stride *= 2;
      continue;
    }
    trial.rollback(mark);
    if (stride == 1) {
      needed.push_back(gone.back());
      gone.pop_back();
    }
    stride = std::max<size_t>(stride / 2, 1);
  }
  gone = std::move(needed);
  std::reverse(gone.begin(), gone.end());
}

}  // namespace gw::sched
