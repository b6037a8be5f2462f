// See lend.h.
#include "sched/cycle/lend.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "sched/cycle/preempt.h"
#include "sched/cycle/start.h"
#include "sched/cycle/victim_search.h"
#include "sched/view/protection.h"

namespace gw::sched {
namespace {

/// What a restart costs (rule 8): nothing is lent for less.
constexpr Duration kShortestLoan = base::minutes(10);

bool reclaims(const Session& session) {
  return !session.quotas().tree().is_flat() && session.view.policy().reclaim != Reclaim::kNone;
}

/// At some time: alone it is within the guarantees of all QOS above it.
bool could_be_guaranteed(const Session& session, const Served& served) {
  const Quotas& quotas = session.quotas();
  for (uint32_t q = served.leaf; q != 0 && q != kNoQos; q = quotas.tree().qos(q).parent)
    if (!quotas.could_stay_within(q, *served.amounts, Reclaim::kGuaranteed)) return false;
  return true;
}

/// Is any QOS beside the job's path above its guarantee?
bool does_anybody_borrow(const Session& session, const Served& served) {
  const Quotas& quotas = session.quotas();
  const QuotaTree& tree = quotas.tree();
  for (uint32_t own = served.leaf; own != 0 && own != kNoQos; own = tree.qos(own).parent) {
    const std::vector<uint32_t>& beside = tree.qos(tree.qos(own).parent).children;
    if (std::any_of(beside.begin(), beside.end(), [&](uint32_t q) {
          return q != own && quotas.is_above(q, own, *served.amounts, Reclaim::kGuaranteed);
        }))
      return true;
  }
  return false;
}

/// As the rules will see it once it runs: borrowed at every QOS up to where the paths part, and above there in what the
/// lender asks for.
bool will_be_borrowed(Session& session, const Served& served, const Lender& lender, Cover& cover) {
  const Quotas& quotas = session.quotas();
  const QuotaTree& tree = quotas.tree();
  if (lender.leaf == served.leaf) return false;
  const uint32_t at = tree.common(lender.leaf, served.leaf);
  const uint32_t own = tree.towards(at, lender.leaf), from = tree.towards(at, served.leaf);
  if (tree.qos(at).preempt_children && (tree.qos(own).is_own || tree.qos(from).is_own)) return false;
  if (!quotas.would_be_above(from, own, lender.amounts, Reclaim::kGuaranteed, *served.amounts)) return false;
  for (uint32_t q = served.leaf; q != at; q = tree.qos(q).parent)
    if (cover.is_covered(served.job.id, q)) return false;
  return true;
}

/// What it might have to be given before it can be preempted again.
Duration shortest_loan(const Session& session, const Served& served) {
  const auto& own = session.quotas().tree().qos(served.leaf);
  Duration grace = own.grace.value_or(session.view.policy().grace);
  if (!own.grace)
    for (const std::string& name : served.job.partitions)
      if (const PartitionFacts* p = session.capacity().partition(name); p != nullptr && p->grace)
        grace = std::max(grace, *p->grace);
  const Duration protection =
      protected_until(session.view, served.leaf, served.job, session.now) - session.now;  // if it was preempted before
  return std::max({kShortestLoan, own.min_runtime, protection}) + grace;
}

/// From its start on, but for its grace.
bool can_always_be_taken(const Session& session, const Served& served) {
  return session.quotas().tree().qos(served.leaf).min_runtime.us == 0 &&
         protected_until(session.view, served.leaf, served.job, session.now) <= session.now;
}

/// Those whose place it could leave in time.
std::set<JobId> possible_lenders(const Session& session, const Served& served) {
  const Time earliest = session.now + shortest_loan(session, served);
  const bool is_for_gathered = can_always_be_taken(session, served);
  std::set<JobId> out;
  for (const Lender& lender : session.backfill.lenders())
    if (lender.when == Time::never() ? is_for_gathered : earliest <= lender.when) out.insert(lender.job);
  return out;
}

/// Of them those who may take it back.
const std::set<JobId>& sure_lenders(Session& session, const Served& served, const std::set<JobId>& possible) {
  const auto [known, is_new] =
      session.lenders_of.try_emplace({served.leaf, *served.amounts, served.job.priority, possible});
  if (!is_new) return known->second;
  Cover& cover = session.victims.covers(session).guaranteed;
  cover.add(CoverEntry{served.job.id, served.leaf, *served.amounts, false, served.job.priority, session.now, {}});
  std::set<JobId>& out = known->second;
  for (const Lender& lender : session.backfill.lenders())
    if (possible.contains(lender.job) && will_be_borrowed(session, served, lender, cover)) out.insert(lender.job);
  cover.remove(served.job.id);
  return out;
}

bool fits_anywhere(Session& session, const Served& served) {
  const std::vector<std::string>& names = served.job.partitions;
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    return is_open(session, served, name) && fits(session, served, *session.capacity().partition(name));
  });
}

bool overlaps(const model::NodeShare& a, const model::NodeShare& b) {
  return a.node == b.node && (a.cores.intersects(b.cores) || a.gpus.intersects(b.gpus));
}

/// They are evicted. The parts of a job that stand in the place.
bool stands_in(const Session& session, const Candidate& c, const model::Allocation& place) {
  const std::vector<JobId> parts = session.trial.parts_of(c.job);
  return std::any_of(parts.begin(), parts.end(), [&](JobId part) {
    if (!session.trial.is_evicted(part)) return false;
    const auto& held = session.trial.evicted_allocation(part).shares;
    return std::any_of(held.begin(), held.end(), [&](const auto& mine) {
      return std::any_of(place.shares.begin(), place.shares.end(),
                         [&](const auto& theirs) { return overlaps(mine, theirs); });
    });
  });
}

}  // namespace

bool start_lent(Session& session, Served& served) {
  if (session.backfill.lenders().empty() || !reclaims(session) || served.is_guaranteed || !served.job.preemptible ||
      !served.job.components.empty())
    return false;
  const std::set<JobId> possible = possible_lenders(session, served);
  if (possible.empty()) return false;
  session.lending = &session.backfill.without(possible);
  const bool is_worth_it = fits_anywhere(session, served);
  session.lending = nullptr;
  const std::set<JobId> from = is_worth_it ? sure_lenders(session, served, possible) : std::set<JobId>();
  if (from.empty()) return false;
  session.lending = &session.backfill.without(from);
  const bool starts = start_now(session, served);
  session.lending = nullptr;
  return starts;
}

std::vector<const Candidate*> evict_lent(Session& session, const Served& served) {
  const PendingJob& job = served.job;
  if (!reclaims(session) || !job.components.empty() || !job.eligible || !could_be_guaranteed(session, served) ||
      !does_anybody_borrow(session, served) || session.victims.latest_start(session) < job.eligible)
    return {};
  std::vector<const Candidate*> out;
  std::optional<Permission> permission;
  const Preemptor preemptor{served.leaf, *served.amounts, job.priority, Reclaim::kGuaranteed, false};
  for (const Candidate& c : session.victims.candidates(session)) {
    if (c.started < job.eligible || !is_preemptible(session, c.job, *session.view.running().at(c.job))) continue;
    if (!permission) permission.emplace(session.quotas(), preemptor, session.victims.covers(session));
    if (c.leaf != served.leaf && permission->could_go(c) && permission->is_borrowed(c)) out.push_back(&c);
  }
  for (const Candidate* c : out)
    if (!session.trial.is_evicted(c->job)) session.trial.evict(c->job);
  return out;
}

bool is_guaranteed_at(const Session& session, const Served& served, Time when) {
  if (!reclaims(session)) return served.is_guaranteed;
  if (!could_be_guaranteed(session, served)) return false;
  const Quotas& quotas = session.quotas();
  const QuotaTree& tree = quotas.tree();
  std::map<uint32_t, Quantities> then;  // by QOS above the job: what will be counted beside it
  for (uint32_t q = served.leaf; q != 0 && q != kNoQos; q = tree.qos(q).parent)
    then.emplace(q, quotas.tally().counted[q]);
  const auto each_above = [&](uint32_t leaf, const auto& visit) {
    for (uint32_t q = tree.common(leaf, served.leaf); q != 0 && q != kNoQos; q = tree.qos(q).parent) visit(then.at(q));
  };
  std::vector<uint32_t> common;  // with the served job's, by leaf: there are fewer QOS than jobs
  for (uint32_t q = 0; q < tree.nodes().size(); ++q) common.push_back(tree.common(q, served.leaf));
  for (const auto& [id, holder] : session.view.quota().holders()) {
    if (common[holder.leaf] == 0 || holder.is_leaving || session.preempted.contains(id)) continue;
    const Quantities& held = holder.amounts;
    const auto holding = session.capacity().holdings().find(id);
    if (holding != session.capacity().holdings().end() && holding->second.expected_end <= when)
      each_above(holder.leaf, [&held](Quantities& amounts) { take_from(amounts, held); });
  }
  for (const Lender& other : session.backfill.lenders())  // planned before it
    if (other.when <= when && when < other.until)
      each_above(other.leaf, [&](Quantities& amounts) { add_to(amounts, other.amounts); });
  return std::all_of(then.begin(), then.end(), [&](const auto& each) {
    for (size_t r = 0; r < each.second.size(); ++r)
      if (tree.qos(each.first).has_line[r] && (*served.amounts)[r] > 0 &&
          each.second[r] + (*served.amounts)[r] > quotas.shares().guaranteed[each.first][r])
        return false;
    return true;
  });
}

std::vector<JobId> in_place(const Session& session, const std::vector<const Candidate*>& lent,
                            const model::Allocation& place) {
  std::vector<JobId> out;
  for (const Candidate* c : lent)
    if (stands_in(session, *c, place)) out.push_back(c->job);
  return out;
}

bool can_be_recalled(const Session& session, const std::vector<const Candidate*>& lent,
                     const std::vector<JobId>& in_place, Time when) {
  return std::all_of(lent.begin(), lent.end(), [&](const Candidate* c) {
    if (std::find(in_place.begin(), in_place.end(), c->job) == in_place.end()) return true;
    const Time started = c->gang ? session.capacity().holdings().at(c->gang).started : c->started;
    const Time ripe = started + session.quotas().tree().qos(c->leaf).min_runtime;
    return std::max(ripe, c->protected_until) + grace_of(session, c->job) <= when;
  });
}

void offer_place(Session& session, const Served& served, Time when, const std::vector<JobId>& lent) {
  if (!reclaims(session)) return;
  session.backfill.add_lender(Lender{served.job.id, served.leaf, *served.amounts, when, when + served.job.time_limit});
  Duration grace = {};
  for (JobId id : lent) grace = std::max(grace, grace_of(session, id));
  if (lent.empty() || grace.us == 0) return;  // they go when it starts
  if (session.now + grace < when) return session.change_at(when - grace);
  Group group;
  const Evicted going{lent, {}};
  const Taking taking{served.leaf, *served.amounts, served.job.priority, session.view.policy().reclaim};
  for (Preempt& victim : told_to_go(session, served.job.id, taking, going, [](JobId) { return 5; }))
    if (session.trial.may_stay(victim.job)) group.decisions.emplace_back(std::move(victim));
  send_off(session, going);
  session.plan.groups.push_back(std::move(group));
}

void offer_gathered(Session& session, const Served& served) {
  if (reclaims(session))
    session.backfill.add_lender(Lender{served.job.id, served.leaf, *served.amounts, Time::never(), Time::never()});
}

}  // namespace gw::sched
