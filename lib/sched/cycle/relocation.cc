// See relocation.h.
#include "sched/cycle/relocation.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "sched/cycle/moves.h"
#include "sched/cycle/start.h"
#include "sched/cycle/victim_search.h"

namespace gw::sched {
namespace {

/// So many nodes are looked at for the place of one that is moved, those first where least would be lost.
constexpr size_t kMostNodes = 32;

class RelocationSearch {
 public:
  RelocationSearch(Session& session, const Served& served, const PartitionFacts& partition, Permission& permission,
                   const std::vector<const Candidate*>& gone, const std::vector<const Candidate*>& borrowed,
                   size_t most)
      : session_(session),
        served_(served),
        partition_(partition),
        permission_(permission),
        gone_(gone),
        borrowed_(borrowed),
        most_(most) {}

  std::optional<Relocation> run() {
    Group placed;
    Served served = served_;
    const Component whole{served.job.id, served.job.request, {}};
    Duration length = served.job.time_limit;
    if (length != base::kUnlimited) length = length + longest_grace();
    if (!place_part(session_, served, whole, partition_.name, length, placed)) return std::nullopt;
    for (const Candidate* c : in_order()) {
      const bool must = !permission_.could_go(*c);
      if (!must && is_enough()) break;
      const bool is_moved = out_.moved.size() < most_ && can_be_moved(session_, *c, partition_) && move(*c);
      if (must && !is_moved) return std::nullopt;
    }
    // Those who are moved count towards limits as before.
    if (out_.moved.empty() || !is_enough() || binding_of(session_, served_, *served_.amounts)) return std::nullopt;
    return out_;
  }

 private:
  Session& session_;
  const Served& served_;
  const PartitionFacts& partition_;
  Permission& permission_;
  const std::vector<const Candidate*>& gone_;
  const std::vector<const Candidate*>& borrowed_;
  const size_t most_;
  Relocation out_;

  Duration longest_grace() const {
    Duration out = {};
    for (const Candidate* c : gone_) out = std::max(out, grace_of(session_, c->job));
    return out;
  }

  /// Those that the rules do not let go at all, then those that are covered; the largest first.
  std::vector<const Candidate*> in_order() {
    std::vector<const Candidate*> list;
    for (const Candidate* c : gone_)
      if (!permission_.could_go(*c) || !permission_.is_borrowed(*c)) list.push_back(c);
    std::stable_sort(list.begin(), list.end(), [this](const Candidate* a, const Candidate* b) {
      const bool could_a = permission_.could_go(*a), could_b = permission_.could_go(*b);
      return could_a != could_b ? !could_a : a->amounts[kGpu] > b->amounts[kGpu];
    });
    return list;
  }

  /// Do the rules let those go who are not moved?
  bool is_enough() {
    std::vector<const Candidate*> rest = gone_;
    std::erase_if(rest, [this](const Candidate* c) {
      return std::find(out_.moved.begin(), out_.moved.end(), c) != out_.moved.end();
    });
    rest.insert(rest.end(), out_.more.begin(), out_.more.end());
    std::set<JobId> with;
    for (const Candidate* c : rest)
      for (JobId part : session_.trial.parts_of(c->job)) with.insert(part);
    return permission_.allows(session_.quotas(), rest, with);
  }

  bool move(const Candidate& c) {
    if (!place(c) && !(make_place(c) && place(c))) return false;
    out_.moved.push_back(&c);
    return true;
  }

  bool place(const Candidate& c) {
    Group group;
    return place_again(session_, served_, c.job, group);
  }

  bool could_be_placed(const Candidate& c) {
    const Trial::Mark mark = session_.trial.mark();
    const bool is_placed = place(c);
    session_.trial.rollback(mark);
    return is_placed;
  }

  /// Of the nodes where borrowed jobs could leave it enough the one where least is lost; if no node is enough, all
  /// together.
  bool make_place(const Candidate& c) {
    std::optional<std::vector<const Candidate*>> best;
    Loss least;
    for (const auto& list : lists()) {
      auto found = clear(list, c);
      if (!found) continue;
      Loss loss;
      for (const Candidate* each : *found) loss.add(*each);
      if (best && !(loss < least)) continue;
      best = std::move(found);
      least = loss;
    }
    if (!best) return false;
    for (const Candidate* each : *best) session_.trial.evict(each->job);
    out_.more.insert(out_.more.end(), best->begin(), best->end());
    return true;
  }

  /// By node, and all of them at last.
  std::vector<std::vector<const Candidate*>> lists() {
    std::map<NodeId, std::vector<const Candidate*>> by_node;
    std::vector<const Candidate*> all;
    for (const Candidate* c : borrowed_) {
      if (session_.trial.is_evicted(c->job)) continue;
      all.push_back(c);
      for (NodeId node : session_.victims.nodes_of(session_, *c)) by_node[node].push_back(c);
    }
    std::vector<std::pair<Loss, const std::vector<const Candidate*>*>> ranked;
    for (const auto& [node, list] : by_node) {
      Loss loss;
      for (const Candidate* c : list) loss.add(*c);
      ranked.emplace_back(std::move(loss), &list);
    }
    std::stable_sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<std::vector<const Candidate*>> out;
    for (size_t i = 0; i < ranked.size() && i < kMostNodes; ++i) out.push_back(*ranked[i].second);
    out.push_back(std::move(all));
    return out;
  }

  /// All of them go, then, the dearest first, each is spared if the moved job still has a place.
  std::optional<std::vector<const Candidate*>> clear(const std::vector<const Candidate*>& list, const Candidate& c) {
    const Trial::Mark mark = session_.trial.mark();
    for (const Candidate* each : list)
      if (!session_.trial.is_evicted(each->job)) session_.trial.evict(each->job);
    std::optional<std::vector<const Candidate*>> out;
    if (could_be_placed(c)) {
      out.emplace();
      for (size_t i = list.size(); i-- > 0;) {
        const Trial::Mark before = session_.trial.mark();
        session_.trial.spare(list[i]->job);
        if (session_.trial.may_stay(list[i]->job) && could_be_placed(c)) continue;
        session_.trial.rollback(before);
        out->push_back(list[i]);
      }
    }
    session_.trial.rollback(mark);
    return out;
  }
};

}  // namespace

std::optional<Relocation> find_relocation(Session& session, const Served& served, const PartitionFacts& partition,
                                          Permission& permission, const std::vector<const Candidate*>& gone,
                                          const std::vector<const Candidate*>& borrowed, size_t most) {
  const Trial::Mark mark = session.trial.mark();
  auto out = RelocationSearch(session, served, partition, permission, gone, borrowed, most).run();
  session.trial.rollback(mark);
  return out;
}

}  // namespace gw::sched
