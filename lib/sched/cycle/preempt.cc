// Who goes, and what is decided then; see preempt.h.
#include "sched/cycle/preempt.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "model/suspension.h"
#include "sched/cycle/moves.h"
#include "sched/cycle/reclaim.h"
#include "sched/cycle/start.h"
#include "sched/cycle/victim_search.h"
#include "sched/ledger/node_index.h"
#include "sched/place/fragmentation.h"

namespace gw::sched {
namespace {

// ---- By the rules of the quotas

/// From jobs without GPUs, if there are any: somewhere above it is within a guarantee.
bool may_take_cores(const Session& session, const Served& served) {
  const Quotas& quotas = session.quotas();
  const bool has_any = (*served.amounts)[kGpu] > 0 && session.view.quota().has_any_without_gpus();
  if (!has_any || session.view.policy().reclaim == Reclaim::kNone) return false;
  for (uint32_t q = served.leaf; q != 0 && q != kNoQos; q = quotas.tree().qos(q).parent)
    if (quotas.could_stay_within(q, *served.amounts, Reclaim::kGuaranteed)) return true;
  return false;
}

/// A quick look, before anybody is listed.
bool may_take_any(Session& session, const Served& served) {
  const Policy& policy = session.view.policy();
  if (policy.preempts && session.view.lowest_running_priority() < served.job.priority) return true;
  if (may_take_cores(session, served)) return true;
  return session.quotas().may_take_from_any(served.leaf, *served.amounts, policy.reclaim) ||
         session.victims.has_extensions(session, served.leaf);
}

/// So many pieces of Workload::shape_of() make up the request.
uint64_t pieces_of(const model::Request& r) {
  if (r.nodes_given && r.min_nodes > 0) return r.min_nodes;
  return std::max(1U, r.tasks / std::max(1U, r.tasks_per_node));
}

/// Does the job with all its components ask for GPUs, and on some kind of node of the partition for no more cores and
/// memory than are theirs there?
bool keeps_to_its_gpus(const Session& session, const PendingJob& job, const PartitionFacts& partition) {
  const TaskShape shape = Workload::shape_of(job.request);
  uint64_t milli = uint64_t{shape.gpus} * shape.gpu_milli, cpus = shape.cpus, mem_mb = shape.mem_mb;
  if (!job.components.empty()) {
    milli *= pieces_of(job.request), cpus *= pieces_of(job.request), mem_mb *= pieces_of(job.request);
    for (const Component& c : job.components) {
      const TaskShape part = Workload::shape_of(c.request);
      milli += pieces_of(c.request) * part.gpus * part.gpu_milli;
      cpus += pieces_of(c.request) * part.cpus;
      mem_mb += pieces_of(c.request) * part.mem_mb;
    }
  }
  if (milli == 0) return false;
  const bool is_whole = partition.exclusive || job.request.exclusive;
  const auto& groups = session.capacity().index(partition.name)->groups();
  return std::any_of(groups.begin(), groups.end(), [&](const auto& group) {
    const NodeAccount* node = group.second.sample;
    if (node == nullptr || node->node_class == nullptr || node->node_class->gpus < shape.gpus) return false;
    const NodeClass& kind = *node->node_class;
    if (kind.all_gpus == 0 || (is_whole && kind.gpus > shape.gpus)) return false;
    const auto theirs = [&](uint64_t all) { return all * milli / (uint64_t{kind.all_gpus} * model::kWholeGpu); };
    return cpus <= theirs(uint64_t{kind.cores} * kind.threads) && mem_mb <= theirs(node->facts.mem_mb);
  });
}

/// What a job is given may be more than it asks for (whole cores, an exclusive node): the rules go by what it is given.
Evicted victims_by_quota(Session& session, const Served& served, const PartitionFacts& partition) {
  const Policy& policy = session.view.policy();
  Preemptor preemptor{served.leaf, *served.amounts, served.job.priority, policy.reclaim, policy.preempts};
  preemptor.may_move_others = served.job.components.empty();
  preemptor.keeps_to_its_gpus = keeps_to_its_gpus(session, served.job, partition);
  const Trial::Mark mark = session.trial.mark();
  constexpr int kTries = 3;
  for (int i = 0; i < kTries; ++i) {
    Evicted found = victims_by_rules(session, served, partition, preemptor);
    if (found.victims.empty()) return {};
    const auto amounts = given(session, served, partition);
    bool is_more = !amounts;
    for (size_t r = 0; amounts && r < amounts->size(); ++r) {
      is_more |= (*amounts)[r] > preemptor.amounts[r];
      preemptor.amounts[r] = std::max(preemptor.amounts[r], (*amounts)[r]);
    }
    if (!is_more) return found;
    session.trial.rollback(mark);
    if (!amounts) return {};
  }
  return {};
}

// ---- By the order's right

/// One start by it costs as much time as so many others: where thousands yield at the same moment a pass ends early,
/// and the next one continues.
constexpr uint64_t kStartsOfAnExchange = 20;

/// How it is suspended: at the end of a turn, or when it is preempted.
Suspends how_suspended(const PendingJob& running, bool is_turn) {
  return is_turn ? running.between_turns : running.suspends;
}

/// Before then it yields to nobody.
Time yields_from(const Session& session, const JobFacts& running, Duration quantum, Yields how, uint32_t leaf) {
  // Two jobs of which an order says that each yields to the other take turns once a second, not without an end.
  Duration least = std::max(session.quotas().tree().qos(leaf).min_runtime, base::seconds(1));
  if (how == Yields::kAtQuantum) least = std::max(least, quantum);
  // Suspended and resumed, it is counted from then on; an elastic gang is so each time that it has another size.
  const bool is_elastic = running.job.most_tasks > 0;
  return (is_elastic ? running.since : std::max(running.since, running.job.counted_at)) + least;
}

/// The end of a turn at that time, or the first after it. Turns end together, at whole multiples of the quantum, or a
/// large gang would wait for a moment at which all of those in its way have run for one.
Time end_of_turn(Time at, Duration quantum) {
  const int64_t slice = std::clamp(quantum, base::seconds(1), base::hours(24 * 366)).us;
  return at == Time::never() ? at : Time{(at.us + slice - 1) / slice * slice};
}

/// The end of the turn in which it runs; by then the other must have waited, too. `min_runtime` protects work, of which
/// a suspended job loses none.
Time turn_ends(const Session& session, const JobFacts& running, const JobFacts& waiting, Duration quantum,
               uint32_t leaf) {
  const Time began = std::max(running.since, running.job.counted_at);
  const bool is_suspended = running.job.between_turns != Suspends::kNo;
  const Duration least = is_suspended ? Duration{1} : session.quotas().tree().qos(leaf).min_runtime;
  return end_of_turn(std::max(began + std::max(least, Duration{1}), waiting.since), quantum);
}

/// Running jobs that yield to the served job by the partition's order, the last first: of the same QOS; to one that
/// takes its own place back when it resumes, of all QOS. Each is asked only when somebody wants to know, since mostly
/// the first are enough.
class Yielders {
 public:
  Yielders(Session& session, const Served& served, const PartitionFacts& partition)
      : session_(session),
        served_(served),
        partition_(partition),
        order_(session.orders().in(partition.name, served.job.qos)),
        quantum_(partition.quantum.value_or(session.view.policy().quantum)),
        waiting_(session.standings.of(served.job, served.leaf)),
        tier_(best_tier(session.capacity(), served.job)),
        memory_(served.job.request.exactly.empty() ? Workload::shape_of(served.job.request).mem_mb : 0) {
    session.standings.tell_pool(waiting_, served.leaf, partition.name);  // there, as the others'
    // Who began to wait in this turn waits for its end.
    const Time first = order_.suspends() ? end_of_turn(waiting_.since, quantum_) : Time{};
    session.change_at(first);
    if (session.now < first) return;
    leaves_ = {served.leaf};
    for (const model::NodeShare& share : served.job.request.exactly)
      if (const NodeAccount* node = session.capacity().node(share.node); order_.suspends() && node != nullptr)
        for (const Occupant& there : node->occupants) in_place_.insert(there.job);
    if (order_.suspends() && !served.job.request.exactly.empty())
      for (const uint32_t leaf : session.standings.leaves_in(partition.name))
        if (leaf != served.leaf) leaves_.push_back(leaf);
  }

  /// Begins with the last again, without those.
  void start_again(const std::set<JobId>& without) {
    without_.insert(without.begin(), without.end());
    given_up_.clear();
    stand_.clear();
    pool_ = at_ = 0;
  }

  std::optional<JobId> next() {
    for (; pool_ < leaves_.size(); ++pool_, at_ = 0) {
      const std::vector<const JobFacts*>& ranked = session_.standings.ranked(leaves_[pool_], partition_.name);
      while (at_ < ranked.size()) {
        const JobFacts& running = *ranked[at_++];
        // Whoever asks thousands pays for it like one who looks at many nodes.
        if (++asked_ % kAskedInAStep == 0) ++session_.plan.placements;
        if (!yields_now(running, leaves_[pool_])) continue;
        if (order_.needs().holdings) {
          given_up_[running.job.uid] += session_.standings.held_by(running.job.id);
          stand_.erase({leaves_[pool_], running.job.uid});
        }
        return running.job.id;
      }
    }
    return std::nullopt;
  }

 private:
  Session& session_;
  const Served& served_;
  const PartitionFacts& partition_;
  const Order& order_;
  const Duration quantum_;
  JobFacts waiting_;
  const int32_t tier_;
  const uint64_t memory_;  // that a piece of it needs on a node
  std::vector<uint32_t> leaves_;
  std::set<JobId> in_place_;  // of one that resumes: who is on its nodes
  std::set<JobId> without_;
  std::map<uint32_t, Held> given_up_;  // by those who were named already
  /// Of the users' jobs at a leaf, without those: worked out once, and not for each of thousands.
  struct Stand {
    double held_by_user = 0, dominant_share = 0;
  };
  std::map<std::pair<uint32_t, uint32_t>, Stand> stand_;
  size_t pool_ = 0, at_ = 0;
  uint64_t asked_ = 0;
  static constexpr uint64_t kAskedInAStep = 32;  // so many whether they yield

  bool yields_now(const JobFacts& known, uint32_t leaf) {
    const PendingJob& other = known.job;
    if (!in_place_.empty() && !in_place_.contains(other.id)) return false;
    if (other.priority > served_.job.priority || without_.contains(other.id)) return false;
    if (!order_.needs().holdings) return yields_to_it(known, leaf);
    const auto [stand, is_new] = stand_.try_emplace({leaf, other.uid});
    if (is_new) stand->second = stand_of(known, leaf);
    JobFacts running = known;
    running.held_by_user = stand->second.held_by_user;
    running.dominant_share = stand->second.dominant_share;
    return yields_to_it(running, leaf);
  }

  Stand stand_of(const JobFacts& known, uint32_t leaf) {
    JobFacts told = known;
    session_.standings.tell_pool(told, leaf, partition_.name, given_up_[known.job.uid]);
    return {told.held_by_user, told.dominant_share};
  }

  bool yields_to_it(const JobFacts& running, uint32_t leaf) {
    // The order is asked first: what else there is to know of who runs takes longer to find.
    const Yields how = order_.yields(running, waiting_);
    if (running.job.preemptible || order_.suspends()) session_.change_at(change_of(order_, running));
    if (how == Yields::kNo || !may_yield(running.job)) return false;
    // Who would be served before the job again takes the place back as soon as it has left it.
    if (best_tier(session_.capacity(), running.job) > tier_) return false;
    const Time from = order_.suspends() ? turn_ends(session_, running, waiting_, quantum_, leaf)
                                        : yields_from(session_, running, quantum_, how, leaf);
    session_.change_at(from);
    return session_.now >= from;
  }

  bool may_yield(const PendingJob& running) const {
    if (running.gang || running.suspended) return false;
    if (!order_.suspends()) return is_preemptible(session_, running.id, running);
    if (running.between_turns == Suspends::kNo)
      return running.saves_work && is_preemptible(session_, running.id, running);
    // Nobody loses anything by a turn: so even who cannot be requeued has one.
    return is_there_to_take(session_, running.id, running) && could_resume_and_leaves_memory(running.id);
  }

  /// It does not resume on a node that takes no jobs; and as it keeps its memory, what is free is all that there is.
  bool could_resume_and_leaves_memory(JobId running) const {
    const Capacity& capacity = session_.capacity();
    bool is_of_use = false;
    for (const NodeId id : capacity.holdings().at(running).nodes) {
      const NodeAccount* node = capacity.node(id);
      if (node == nullptr || !node->facts.usable) return false;
      is_of_use |= node->free.mem_mb >= memory_;
    }
    return is_of_use;
  }
};

// ---- Suspension in place of an end

/// The victim is evicted. True: what it keeps in suspension is given back to it, and the served job still fits. What it
/// keeps stays in the way of everybody else, and can itself be taken: then the job is ended after all. So memory and
/// GPUs that are lent come back, whatever their holder chose.
bool leaves_enough_suspended(Session& session, const Served& served, JobId victim, const PartitionFacts& partition,
                             bool is_turn) {
  Trial& trial = session.trial;
  if (how_suspended(*session.view.running().at(victim), is_turn) == Suspends::kNo || !trial.may_stay(victim) ||
      trial.evicted_with(victim).size() != 1)
    return false;
  const PartitionFacts* own = session.capacity().partition(trial.holding_of(victim).partition);
  const model::Allocation kept =
      model::kept_in_suspension(trial.evicted_allocation(victim), own != nullptr && own->share_suspended_gpus);
  const Trial::Mark mark = trial.mark();
  if (trial.suspend(victim, kept) && fits(session, served, partition)) return true;
  trial.rollback(mark);
  return false;
}

/// One that is not told needs no time; a moment, since nobody is gone at once.
Duration grace_before_suspension(const Session& session, JobId victim, bool is_turn) {
  const bool is_told = how_suspended(*session.view.running().at(victim), is_turn) == Suspends::kAfterGrace;
  return is_told ? grace_of(session, victim) : std::min(grace_of(session, victim), base::seconds(1));
}

/// Of those that are evicted, who would lose work by yielding: it neither leaves enough suspended nor saves its work.
std::set<JobId> losers(Session& session, const Served& served, const PartitionFacts& partition,
                       const std::vector<JobId>& victims) {
  std::set<JobId> out;
  const Trial::Mark mark = session.trial.mark();
  for (const JobId victim : victims)
    if (!session.view.running().at(victim)->saves_work &&
        !leaves_enough_suspended(session, served, victim, partition, true))
      out.insert(victim);
  session.trial.rollback(mark);
  return out;
}

Evicted victims_by_order(Session& session, const Served& served, const PartitionFacts& partition) {
  const Order& order = session.orders().in(partition.name, served.job.qos);
  if (!order.is_preemptive()) return {};
  Yielders yielders(session, served, partition);
  const NextVictim next = [&yielders] { return yielders.next(); };
  VictimSearch search{session, served, partition};
  // Where a quota is in the way, too, whoever leaves helps, wherever it runs.
  const bool is_plain = served.job.components.empty() && served.job.request.exactly.empty() && !served.refused &&
                        !binding_of(session, served, *served.amounts);
  std::set<JobId> left_out;
  const auto find = [&] {
    auto found = is_plain ? find_victims_by_node(search, next) : std::nullopt;
    if (found) return std::move(*found);
    if (is_plain) yielders.start_again(left_out);
    return find_victims(search, next);
  };
  if (!order.suspends()) return {find(), {}, false};
  constexpr int kTries = 8;  // each leaves out all who would lose by it; at the end of the next turn it is tried again
  const Trial::Mark mark = session.trial.mark();
  for (int i = 0; i < kTries; ++i) {
    Evicted out{find(), {}, true};
    const std::set<JobId> lose = losers(session, served, partition, out.victims);
    if (lose.empty()) return out;
    session.trial.rollback(mark);
    left_out = lose;
    yielders.start_again(left_out);
  }
  return {};
}

// ---- The decision

/// By which rule the served job takes from that one; 0: by the order's own right.
int rule_of(const Session& session, const Served& served, JobId victim, bool is_turn) {
  if (is_turn) return 0;
  const QuotaTree& tree = session.quotas().tree();
  const PendingJob& running = *session.view.running().at(victim);
  const uint32_t leaf = tree.leaf_of(running.qos);
  if (leaf == served.leaf) return session.view.policy().preempts && running.priority < served.job.priority ? 7 : 0;
  const uint32_t parting = tree.common(leaf, served.leaf);
  return tree.qos(parting).preempt_children && tree.qos(tree.towards(parting, served.leaf)).is_own ? 6 : 5;
}

/// Told before one of them is suspended instead, or runs on until it has left.
std::vector<Preempt> telling(const Session& session, const Served& served, const Evicted& evicted) {
  const Taking taking{served.leaf, *served.amounts, served.job.priority, session.view.policy().reclaim};
  return told_to_go(session, served.job.id, taking, evicted,
                    [&](JobId victim) { return rule_of(session, served, victim, evicted.is_turn); });
}

/// Where the job will be once all that were evicted for it have left, and stay until its end.
std::optional<Nomination> nomination(Session& session, const Served& served, const PartitionFacts& partition,
                                     Duration grace) {
  const PendingJob& job = served.job;
  if (misses_deadline(session, job, grace)) return std::nullopt;
  Served again{job, served.leaf, served.amounts, served.is_guaranteed};
  Group placed;
  const Duration length = job.time_limit == base::kUnlimited ? base::kUnlimited : grace + job.time_limit;
  if (!place_gang(session, again, partition.name, length, placed)) return std::nullopt;
  std::optional<Nomination> out;
  for (Decision& d : placed.decisions) {
    Start& start = std::get<Start>(d);
    if (out)
      out->components.push_back({start.partition, std::move(start.allocation)});
    else
      out = Nomination{job.id, start.partition, std::move(start.allocation), session.now + grace};
  }
  return out;
}

/// The victims leave first: they run on in the trial, which is as it was at `mark`, and the place is kept for the job.
bool start_after_grace(Session& session, const Served& served, const PartitionFacts& partition, const Evicted& evicted,
                       Duration grace, Trial::Mark mark, Group group) {
  auto kept = nomination(session, served, partition, grace);
  session.trial.rollback(mark);
  if (!kept) return false;
  const PendingJob& job = served.job;
  ++session.starts;  // it is decided, as a start is, and costs as much
  send_off(session, evicted);
  session.trial.count(served.leaf, kept->amounts(session.quotas().tree(), session.capacity(), job), job.preemptible,
                      job.uid);
  keep_place(session, job, *kept);
  session.plan.planned_starts.push_back(PlannedStart{job.id, partition.name, kept->when, kept->node_names()});
  group.decisions.emplace_back(std::move(*kept));
  count_exchange(session, group);
  session.plan.groups.push_back(std::move(group));
  return true;
}

/// Some of the victims start again elsewhere: everybody's place is found now, and kept while the victims leave.
bool start_with_moves(Session& session, Served& served, const PartitionFacts& partition, const Evicted& evicted,
                      Trial::Mark mark) {
  Group group, placed;
  Duration grace = {};
  for (Preempt& victim : telling(session, served, evicted)) {
    grace = std::max(grace, victim.grace);
    if (session.trial.may_stay(victim.job)) group.decisions.emplace_back(std::move(victim));
  }
  const Duration limit = served.job.time_limit;
  const bool is_found =
      place_gang(session, served, partition.name, limit == base::kUnlimited ? limit : grace + limit, placed) &&
      std::all_of(evicted.moved.begin(), evicted.moved.end(),
                  [&](JobId id) { return place_again(session, served, id, placed); });
  if (!is_found) {
    session.trial.rollback(mark);
    return false;
  }
  session.moved += evicted.moved.size();
  if (grace.us > 0) {
    session.trial.rollback(mark);
    ++session.starts;
    send_off(session, evicted);
    keep_places(session, served, grace, placed, group);
    count_exchange(session, group);
    session.plan.groups.push_back(std::move(group));
    return true;
  }
  session.preempted.insert(evicted.moved.begin(), evicted.moved.end());
  std::move(placed.decisions.begin(), placed.decisions.end(), std::back_inserter(group.decisions));
  decide_start(session, std::move(group));
  return true;
}

/// The victims are evicted in the trial since `mark`.
bool start_in_place_of(Session& session, Served& served, const PartitionFacts& partition, const Evicted& evicted,
                       Trial::Mark mark) {
  if (!evicted.moved.empty()) return start_with_moves(session, served, partition, evicted, mark);
  std::vector<Preempt> leaving = telling(session, served, evicted);
  Group group;
  Duration grace = {};
  for (Preempt& victim : leaving) {
    victim.is_suspended = leaves_enough_suspended(session, served, victim.job, partition, evicted.is_turn);
    if (victim.is_suspended) victim.grace = grace_before_suspension(session, victim.job, evicted.is_turn);
    grace = std::max(grace, victim.grace);
    if (session.trial.may_stay(victim.job)) group.decisions.emplace_back(std::move(victim));
  }
  if (grace.us > 0) return start_after_grace(session, served, partition, evicted, grace, mark, std::move(group));
  if (place_gang(session, served, partition.name, served.job.time_limit, group)) {
    decide_start(session, std::move(group));
    return true;
  }
  session.trial.rollback(mark);
  return false;
}

}  // namespace

namespace {

/// Nobody is preempted for a licence: what quotas say of one is only how many there are.
bool lacks_license(const Session& session, const Served& served) {
  const QuotaTree& tree = session.quotas().tree();
  if (tree.licenses().empty()) return false;
  const std::vector<Binding> limits = session.quotas().limits_in_way(served.leaf, *served.amounts, served.job.uid);
  return std::any_of(limits.begin(), limits.end(),
                     [&](const Binding& limit) { return tree.resources()[limit.resource].starts_with(kLicense); });
}

}  // namespace

std::vector<Preempt> told_to_go(const Session& session, JobId beneficiary, const Taking& taking, const Evicted& evicted,
                                const std::function<int(JobId)>& rule) {
  const std::set<JobId> moved(evicted.moved.begin(), evicted.moved.end());
  std::set<JobId> seen;  // an extension may go by itself and with its gang
  std::vector<const QuotaLedger::Holder*> gone;
  std::optional<Quotas> changed;
  const auto quotas = [&]() -> Quotas& { return changed ? *changed : changed.emplace(session.quotas()); };
  for (JobId id : evicted.victims)
    for (JobId part : session.trial.parts_of(id)) {
      const QuotaLedger::Holder& holder = *session.view.quota().holder(part);
      if (holder.is_leaving || session.preempted.contains(part) || !seen.insert(part).second) continue;
      const bool is_evicted = session.trial.is_evicted(part);
      if (!moved.contains(id)) gone.push_back(&holder);
      if (!moved.contains(id) && !is_evicted) quotas().stop(holder);
      if (moved.contains(id) && is_evicted) quotas().start(holder);  // it goes on elsewhere
    }
  const Exchange exchange(changed ? *changed : session.quotas(), taking, gone);
  std::vector<Preempt> out;
  for (JobId id : evicted.victims) {
    const bool is_move = moved.contains(id);
    Preempt& told = out.emplace_back(Preempt{id, beneficiary, grace_of(session, id), is_move ? 0 : rule(id), is_move});
    if (is_move) continue;
    const PendingJob& running = *session.view.running().at(id);
    told.ground = exchange.ground(*session.view.quota().holder(id));
    told.ground->victim_priority = running.priority;
    told.ground->is_extension = running.gang != JobId();
  }
  return out;
}

void send_off(Session& session, const Evicted& evicted) {
  for (JobId id : evicted.victims) {
    const bool is_moved = std::find(evicted.moved.begin(), evicted.moved.end(), id) != evicted.moved.end();
    for (JobId part : session.trial.parts_left(id)) {
      const QuotaLedger::Holder& holder = *session.view.quota().holder(part);
      if (holder.is_leaving || !session.preempted.insert(part).second)
        continue;  // an extension, evicted before its gang
      if (!is_moved) session.trial.send_off(holder);
    }
  }
}

bool preempt(Session& session, Served& served) {
  const PendingJob& job = served.job;
  if (session.view.running().empty() || (!job.components.empty() && !served.is_guaranteed)) return false;
  if (!job.preemptible && session.quotas().guarantee_in_way(served.leaf, *served.amounts)) return false;
  if (lacks_license(session, served)) return false;
  const bool by_rules = may_take_any(session, served);
  if (!by_rules && !session.orders().are_preemptive()) return false;
  for (const std::string& name : job.partitions) {
    if (!is_open(session, served, name)) continue;
    const PartitionFacts& partition = *session.capacity().partition(name);
    if (fits_soon(session, served, partition)) return false;
    const Trial::Mark mark = session.trial.mark();
    Evicted evicted;
    if (by_rules) evicted = victims_by_quota(session, served, partition);
    const bool by_order = evicted.victims.empty();
    if (by_order) evicted = victims_by_order(session, served, partition);
    if (evicted.victims.empty() || !start_in_place_of(session, served, partition, evicted, mark)) continue;
    if (by_order) session.starts += kStartsOfAnExchange - 1;
    return true;
  }
  return false;
}

}  // namespace gw::sched
