// Places, and which of them is cheapest; see reclaim.h.
#include "sched/cycle/reclaim.h"

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

#include "sched/cycle/cheapest_set.h"
#include "sched/cycle/moves.h"
#include "sched/cycle/victim_search.h"
#include "sched/ledger/node_index.h"
#include "sched/place/node_filter.h"

namespace gw::sched {
namespace {

using model::Locality;

/// So many places more are looked at once one has been found: each could only be cheaper.
constexpr size_t kMostPlaces = 128;
/// So many requests are held against the nodes for one job before no further place is looked at.
constexpr uint64_t kMostStepsOfSearch = 8'192;

class ReclaimSearch {
 public:
  ReclaimSearch(Session& session, const Served& served, const PartitionFacts& partition, const Preemptor& preemptor)
      : session_(session),
        served_(served),
        partition_(partition),
        index_(*session.capacity().index(partition.name)),
        filter_(served.job.request, partition),
        preemptor_(preemptor),
        candidates_(session.victims.candidates(session)),
        permission_(session.quotas(), preemptor, session.victims.covers(session)),
        limited_(session.quotas().limit_in_way(preemptor.leaf, preemptor.amounts, served.job.uid)),
        sets_(session, served, partition, preemptor, permission_),
        standing_(candidates_.size(), Standing::kUnknown),
        beyond_(highest_beyond()) {}

  /// Of all places; those who are borrowed first: anybody else is asked for only where they are not enough.
  std::optional<VictimSet> run() {
    const auto options = options_for(session_, served_, served_.job, partition_, served_.job.time_limit);
    if (!options) return std::nullopt;
    for (const Reach reach : {Reach::kBorrowed, Reach::kCovered, Reach::kMoved}) {
      if (reach == Reach::kCovered && !has_covered_) continue;
      if (reach == Reach::kMoved && !open_moves()) break;
      if (reach == Reach::kCovered) sets_.allow_covered();
      reach_ = reach;
      look_everywhere(options->level);
      if (best_) break;
    }
    return std::move(best_);
  }

 private:
  /// Who may go: each time more, and only where those before were not enough.
  enum class Reach : uint8_t { kBorrowed, kCovered, kMoved };
  enum class Standing : uint8_t { kUnknown, kStays, kBorrowed, kCovered, kMovable };
  Session& session_;
  const Served& served_;
  const PartitionFacts& partition_;
  const NodeIndex& index_;
  const NodeFilter filter_;
  const Preemptor& preemptor_;
  const std::vector<Candidate>& candidates_;
  Permission permission_;
  const std::optional<Binding> limited_;
  CheapestSet sets_;
  std::vector<Standing> standing_;  // of the candidates
  const uint32_t beyond_;           // see highest_beyond()
  std::vector<const Candidate*> helpers_;
  bool has_covered_ = false;  // somebody was left out for it
  Reach reach_ = Reach::kBorrowed;
  std::optional<VictimSet> best_;
  size_t places_since_best_ = 0;
  const uint64_t began_at_ = session_.plan.placements;

  // ---- Candidates

  Standing work_out_standing(const Candidate& c) {
    if (!is_ripe(session_, c) || misses_deadline(session_, served_.job, grace_of(session_, c.job)))
      return Standing::kStays;
    if (is_protected(c) || is_bounded(c)) return Standing::kStays;
    if (c.is_settled) session_.change_at(c.settled_until);
    if (!permission_.could_go(c)) return is_movable(c) ? Standing::kMovable : Standing::kStays;
    return permission_.is_borrowed(c) ? Standing::kBorrowed : Standing::kCovered;
  }

  /// It was preempted before, and the served job has not waited for long.
  bool is_protected(const Candidate& c) {
    const Time until = std::min(c.protected_until, served_.job.eligible + session_.view.policy().reclaim_delay_max);
    if (session_.now >= until) return false;
    session_.change_at(until);
    return true;
  }

  /// So much was taken from others in this round, or so many of its QOS were preempted lately, that nobody else is; the
  /// latter for a job that borrows.
  bool is_bounded(const Candidate& c) {
    if (c.leaf == preemptor_.leaf || c.gang) return false;
    Time until = session_.victims.round_until(session_);
    if (!served_.is_guaranteed)
      until = std::max(until, session_.victims.bounded_until(session_, session_.view.running().at(c.job)->qos));
    if (session_.now >= until) return false;
    session_.change_at(until);
    return true;
  }

  /// Jobs of the own QOS are moved by consolidation alone.
  bool is_movable(const Candidate& c) const {
    return c.leaf != preemptor_.leaf && can_be_moved(session_, c, partition_);
  }

  /// Only for a job within its guarantee.
  bool open_moves() {
    const size_t most = std::min(moves_left(session_, partition_), kMostMoves);
    if (!served_.is_guaranteed || !preemptor_.may_move_others || most == 0) return false;
    std::vector<const Candidate*> borrowed;
    bool has_movable = false;
    for (const Candidate& c : candidates_) {
      const Standing standing = standing_of(c);
      if (standing == Standing::kBorrowed) borrowed.push_back(&c);
      has_movable |= standing == Standing::kCovered || standing == Standing::kMovable;
    }
    sets_.allow_moves(std::move(borrowed), most);
    return has_movable;
  }

  Standing standing_of(const Candidate& c) {
    Standing& standing = standing_[static_cast<size_t>(&c - candidates_.data())];
    if (standing == Standing::kUnknown) standing = work_out_standing(c);
    return standing;
  }

  bool may_go(const Candidate& c) {
    switch (standing_of(c)) {
      case Standing::kBorrowed:
        return true;
      case Standing::kCovered:
        has_covered_ = true;
        return reach_ >= Reach::kCovered;
      case Standing::kMovable:
        return reach_ == Reach::kMoved;
      default:
        return false;
    }
  }

  /// Its going could help wherever it runs: it holds something of what a limit keeps from the served job, or what keeps
  /// a QOS of the served job from being within what it is due.
  bool helps_anywhere(const Candidate& c) const {
    const QuotaTree& tree = session_.quotas().tree();
    const bool is_limited =
        limited_ && (!limited_->is_of_user || session_.view.running().at(c.job)->uid == served_.job.uid);
    if (is_limited && tree.common(c.leaf, limited_->qos) == limited_->qos) return true;
    return beyond_ != kNoQos && tree.common(c.leaf, beyond_) == beyond_;
  }

  /// The highest QOS above the served job that is beyond what it is due with it; kNoQos: none.
  uint32_t highest_beyond() const {
    const Quotas& quotas = session_.quotas();
    const Reclaim mode = has_many() ? preemptor_.reclaim : Reclaim::kGuaranteed;
    uint32_t highest = kNoQos;
    for (uint32_t q = preemptor_.leaf; q != 0 && q != kNoQos; q = quotas.tree().qos(q).parent)
      if (!quotas.stays_within(q, preemptor_.amounts, mode == Reclaim::kNone ? Reclaim::kGuaranteed : mode))
        highest = q;
    return highest;
  }

  // ---- Places

  void look_everywhere(Locality level) {
    helpers_.clear();
    if (limited_ || beyond_ != kNoQos)
      for (const Candidate& c : candidates_)
        if (helpers_.size() <= kMostExact && helps_anywhere(c) && may_go(c)) helpers_.push_back(&c);
    if (!served_.job.components.empty()) return look_anywhere();
    const bool is_one_node = filter_.is_one_node();
    if (is_one_node || (filter_.may_be_one_node() && has_many())) look_at_nodes();
    if (is_one_node && helpers_.empty()) return;
    if (level > Locality::kBlock || index_.domains().empty() || !helpers_.empty()) look_anywhere();
    if (!is_one_node && level <= Locality::kBlock && !index_.domains().empty())
      look_at_domains(level == Locality::kBlock ? 1 : 0);
  }

  bool has_many() const { return candidates_.size() > kMostExact; }

  bool is_usable(NodeId id) const {
    const NodeAccount* node = session_.capacity().node(id);
    return node != nullptr && index_.position(id) != UINT32_MAX && node->facts.usable &&
           !filter_.failed_static_filter(node->facts, *node->node_class);
  }

  uint64_t free_milli(NodeId id) const {
    const FreeResources& free = session_.capacity().node(id)->free;
    uint64_t sum = uint64_t{free.gpus.size()} * model::kWholeGpu;
    for (const SharedGpu& shared : free.shared) sum += shared.left;
    return sum;
  }

  PlaceToClear place_on(const std::vector<NodeId>& nodes) {
    PlaceToClear place;
    place.nodes = &nodes;
    for (NodeId id : nodes) {
      place.free_milli += free_milli(id);
      for (const Candidate* c : session_.victims.on(session_, id))
        if (may_go(*c)) place.candidates.push_back(c);
    }
    if (helpers_.size() <= kMostExact)
      place.candidates.insert(place.candidates.end(), helpers_.begin(), helpers_.end());
    std::sort(place.candidates.begin(), place.candidates.end());  // they lie in the order of rule 8
    place.candidates.erase(std::unique(place.candidates.begin(), place.candidates.end()), place.candidates.end());
    return place;
  }

  bool could_hold(const PlaceToClear& place) const {
    uint64_t have = place.free_milli;
    for (const Candidate* c : place.candidates) have += c->amounts[kGpu];
    return !place.candidates.empty() && have >= sets_.needs_milli();
  }

  /// False: enough has been looked at.
  bool look_at(const PlaceToClear& place) {
    if (!could_hold(place)) return true;
    if (session_.plan.placements - began_at_ > kMostStepsOfSearch || sets_.is_spent()) {
      ++session_.plan.cut_searches;
      return false;
    }
    std::optional<VictimSet> found;
    if (place.candidates.size() <= kMostExact) {
      found = sets_.search(place, best_);
    } else {
      ++session_.plan.cut_searches;
      const auto all = [](const Candidate&) { return true; };  // they are listed
      take_cheaper(found, sets_.sweep(place, place.candidates, reach_ == Reach::kCovered, all));
      take_cheaper(found, sets_.sweep(place, by_node(place), reach_ == Reach::kCovered, all));
      const uint64_t missing = sets_.needs_milli() - std::min(sets_.needs_milli(), place.free_milli);
      if (!found || has_larger(*found, missing))
        take_cheaper(found, sets_.sweep(place, by_size(by_rate(place), missing), reach_ == Reach::kCovered, all));
    }
    take_cheaper(best_, std::move(found));
    if (best_ && ++places_since_best_ > kMostPlaces) {
      ++session_.plan.cut_searches;
      return false;
    }
    return true;
  }

  static void take_cheaper(std::optional<VictimSet>& best, std::optional<VictimSet> other) {
    if (other && (!best || other->loss < best->loss)) best = std::move(other);
  }

  /// Nodes by what all candidates there would lose, the cheapest first.
  std::vector<const Candidate*> by_node(const PlaceToClear& place) {
    std::vector<std::pair<Loss, NodeId>> nodes;
    const std::vector<NodeId>& all =
        place.nodes != nullptr ? *place.nodes : session_.capacity().partition_nodes(partition_.name);
    for (NodeId id : all) {
      if (!is_usable(id)) continue;
      Loss loss;
      uint64_t milli = free_milli(id);
      for (const Candidate* c : session_.victims.on(session_, id)) {
        if (!may_go(*c)) continue;
        loss.add(*c);
        milli += c->amounts[kGpu];
      }
      if (milli >= uint64_t{filter_.least_gpus()} * model::kWholeGpu) nodes.emplace_back(std::move(loss), id);
    }
    std::sort(nodes.begin(), nodes.end());
    std::vector<const Candidate*> order;
    std::set<const Candidate*> known;
    for (const auto& [loss, id] : nodes)
      for (const Candidate* c : session_.victims.on(session_, id))
        if (may_go(*c) && known.insert(c).second) order.push_back(c);
    return order;
  }

  /// The whole partition: few candidates are searched completely; of many no more are listed than the sweep needs.
  void look_anywhere() {
    PlaceToClear place;
    const auto is_here = [this](const Candidate& c) {
      return may_go(c) && (helps_anywhere(c) || is_of_use(session_, served_, c, partition_));
    };
    for (const Candidate& c : candidates_) {
      if (place.candidates.size() > kMostExact) break;
      if (is_here(c)) place.candidates.push_back(&c);
    }
    if (place.candidates.size() > kMostExact) return sweep_anywhere(is_here);
    for (NodeId id : session_.capacity().partition_nodes(partition_.name)) place.free_milli += free_milli(id);
    (void)look_at(place);
  }

  void sweep_anywhere(const std::function<bool(const Candidate&)>& is_here) {
    ++session_.plan.cut_searches;
    const bool keeps = reach_ == Reach::kCovered;
    const PlaceToClear anywhere;
    take_cheaper(best_, sets_.sweep(anywhere, session_.victims.ranked(session_), keeps, is_here));
    const uint64_t missing = missing_milli();
    if (!best_ || has_larger(*best_, missing))
      take_cheaper(best_, sets_.sweep(anywhere, by_size(session_.victims.by_rate(session_), missing), keeps, is_here));
    if (!best_) take_cheaper(best_, sets_.sweep(anywhere, by_node(anywhere), keeps, is_here));
  }

  static std::vector<const Candidate*> by_rate(const PlaceToClear& place) {
    std::vector<const Candidate*> order = place.candidates;
    std::stable_sort(order.begin(), order.end(),
                     [](const Candidate* a, const Candidate* b) { return is_cheaper_by_gpu(*a, *b); });
    return order;
  }

  /// By what a GPU of theirs costs; first those who hold no more GPUs than are missing, so that a few jobs of the right
  /// size go instead of many small ones.
  static std::vector<const Candidate*> by_size(std::vector<const Candidate*> order, uint64_t missing) {
    std::stable_partition(order.begin(), order.end(),
                          [missing](const Candidate* c) { return c->amounts[kGpu] <= missing; });
    return order;
  }

  /// Than the smallest of the set, and no larger than what is missing.
  bool has_larger(const VictimSet& set, uint64_t missing) const {
    uint64_t smallest = UINT64_MAX;
    for (const Candidate* c : set.victims) smallest = std::min(smallest, c->amounts[kGpu]);
    return std::any_of(candidates_.begin(), candidates_.end(),
                       [&](const Candidate& c) { return c.amounts[kGpu] > smallest && c.amounts[kGpu] <= missing; });
  }

  /// GPUs that are missing in the whole partition, in thousandths.
  uint64_t missing_milli() const {
    uint64_t have = 0;
    for (const auto& [state, group] : index_.groups())
      have += uint64_t{group.nodes.count()} * state.gpus * model::kWholeGpu;
    return sets_.needs_milli() - std::min(sets_.needs_milli(), have);
  }

  void look_at_domains(uint32_t level) {
    for (const Domain& domain : index_.domains()) {
      if (domain.level != level) continue;
      std::vector<NodeId> nodes;
      for (uint32_t p = domain.first; p < domain.last; ++p)
        if (is_usable(index_.at(p).facts.id)) nodes.push_back(index_.at(p).facts.id);
      if (!look_at(place_on(nodes))) return;
    }
  }

  /// As the candidates come in the order of what a GPU of theirs costs: once the cheapest set so far costs no more than
  /// what every node to come must cost, nobody else is looked at.
  void look_at_nodes() {
    std::set<NodeId> known;
    const uint64_t least = least_missing_milli();
    for (const Candidate* c : session_.victims.by_rate(session_)) {
      if (!may_go(*c)) continue;
      if (best_ && least > 0 && c->amounts[kGpu] > 0) {
        Loss to_come;
        to_come.add(c->priority, std::max<uint64_t>(loss_of_part(*c, least), 1));
        if (!(to_come < best_->loss)) return;
      }
      for (NodeId id : session_.victims.nodes_of(session_, *c)) {
        if (!known.insert(id).second || !is_usable(id)) continue;
        const std::vector<NodeId> node = {id};
        if (!look_at(place_on(node))) return;
      }
    }
  }

  /// GPUs that every node lacks at least.
  uint64_t least_missing_milli() const {
    uint64_t most = 0;
    for (const auto& [state, group] : index_.groups())
      if (!group.nodes.empty()) most = std::max<uint64_t>(most, uint64_t{state.gpus} * model::kWholeGpu);
    return sets_.needs_milli() > most ? sets_.needs_milli() - most : 0;
  }
};

}  // namespace

Evicted victims_by_rules(Session& session, const Served& served, const PartitionFacts& partition,
                         const Preemptor& preemptor) {
  const auto found = ReclaimSearch(session, served, partition, preemptor).run();
  Evicted out;
  if (!found) return out;
  for (const Candidate* c : found->victims) {
    if (!session.trial.is_evicted(c->job)) session.trial.evict(c->job);
    out.victims.push_back(c->job);
  }
  for (const Candidate* c : found->moved) out.moved.push_back(c->job);
  return out;
}

}  // namespace gw::sched
