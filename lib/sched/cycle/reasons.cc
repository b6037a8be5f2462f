// See reasons.h.
#include "sched/cycle/reasons.h"

#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include "sched/ledger/node_index.h"
#include "sched/place/enough.h"
#include "sched/place/node_filter.h"

namespace gw::sched {

using model::Blocker;
using model::BlockerScope;
using model::WaitCause;
using model::WaitReason;

namespace {

/// A job may name a thousand partitions: after so many blockers no further partition is told of.
constexpr size_t kMostBlockers = 64;

/// What keeps a job waiting.
struct Blockage {
  model::WaitReason reason = model::WaitReason::kResources;
  model::Blockers blockers;
  bool is_up = false;        ///< Some partition starts jobs.
  bool is_lasting = true;    ///< No planned start of others and no wait for something closer has a part in it.
  uint32_t fitting = 0;      ///< Nodes that could take a part.
  bool lacks_place = false;  ///< In some partition, whatever is planned there.
  model::WaitCause cause = model::WaitCause::kPartition;  ///< Of the partition where it is nearest to a start.
};

/// Where a job waits in several partitions, that counts where least is missing.
int nearness(model::WaitCause cause) {
  constexpr std::array kFarthestFirst = {WaitCause::kPartition, WaitCause::kNodesDown, WaitCause::kReservation,
                                         WaitCause::kResources, WaitCause::kQuota,     WaitCause::kFragmentation,
                                         WaitCause::kLocality,  WaitCause::kPriority};
  return static_cast<int>(std::find(kFarthestFirst.begin(), kFarthestFirst.end(), cause) - kFarthestFirst.begin());
}

void could_start_but_for(Blockage& blockage, WaitCause cause) {
  if (nearness(cause) > nearness(blockage.cause)) blockage.cause = cause;
}

/// Of what was told: the same again is not said twice.
uint64_t hash_of(WaitReason reason, WaitCause cause, const model::Blockers& blockers) {
  size_t hash = static_cast<size_t>(reason) * model::kWaitCauses + static_cast<size_t>(cause) + 1;
  const auto mix = [&hash](size_t more) { hash = hash * 31 + more; };
  const std::hash<std::string> text;
  for (const Blocker& b : blockers) {
    mix(static_cast<size_t>(b.kind) * 8 + static_cast<size_t>(b.scope));
    for (const uint64_t n : {b.asked, b.bound, b.held, uint64_t{b.nodes}, static_cast<uint64_t>(b.until.us)}) mix(n);
    for (const std::string* t : {&b.where, &b.resource, &b.held_by}) mix(text(*t));
  }
  return hash == 0 ? 1 : hash;
}

void tell(Session& session, JobClass& job_class, const ClassKey& key, WaitReason reason, WaitCause cause,
          model::Blockers blockers) {
  const uint64_t said = hash_of(reason, cause, blockers);
  if (job_class.told == said) return;
  job_class.told = said;
  session.plan.groups.push_back(Group{{Wait{key, reason, std::move(blockers), cause}}});
}

Blocker blocker_of(const QuotaTree& tree, const Binding& binding) {
  const BlockerKind limit = binding.is_of_user ? BlockerKind::kUserLimit : BlockerKind::kLimit;
  return Blocker{.kind = binding.is_limit ? limit : BlockerKind::kGuarantee,
                 .scope = BlockerScope::kQos,
                 .where = tree.words(binding.qos),
                 .resource = tree.resources()[binding.resource],
                 .asked = binding.asked,
                 .bound = binding.bound,
                 .held = binding.held};
}

Blocker in_partition(BlockerKind kind, const std::string& partition, std::string held_by = {}) {
  return Blocker{.kind = kind, .scope = BlockerScope::kPartition, .where = partition, .held_by = std::move(held_by)};
}

/// What a job lacks that found no place in a partition, whatever is planned there.
WaitCause lack_in(Session& session, const Served& served, const PartitionFacts& partition) {
  const PendingJob& job = served.job;
  const model::Request& request = job.request;
  if (!job.reservation.empty()) return WaitCause::kResources;  // of its nodes
  switch (enough_in_all(session.capacity(), partition, request, session.queue.round.steps)) {
    case Enough::kNotThere:
      return WaitCause::kNodesDown;
    case Enough::kNotFree:
      return WaitCause::kResources;
    case Enough::kFree:
      break;
  }
  auto options = options_for(session, served, job, partition, job.time_limit);
  if (!options || (options->level == model::Locality::kAny && options->switches == 0)) return WaitCause::kFragmentation;
  options->timeline = nullptr;
  options->level = model::Locality::kAny;
  options->switches = 0;
  session.queue.round.steps += session.capacity().index(partition.name)->groups().size() + 1;
  const bool has_place = place(session.capacity(), partition, request, *options).allocation.has_value();
  return has_place ? WaitCause::kLocality : WaitCause::kFragmentation;
}

/// As many steps of a pass may go into what classes lack; those that do not come to it do so in the next pass.
constexpr uint64_t kMostSteps = 20'000;

/// Likewise in all partitions where no place was found for it.
WaitCause lack_of(Session& session, const Served& served, JobClass& job_class, bool is_known) {
  if (job_class.lacks_in == session.queue.round.number || session.queue.round.steps >= kMostSteps)
    return job_class.lacks;
  Blockage least;
  size_t looked_in = 0;
  for (const std::string& name : served.job.partitions) {
    const PartitionFacts* partition = session.capacity().partition(name);
    if (partition == nullptr || !partition->is_up || (!is_known && !served.failed.contains(name))) continue;
    could_start_but_for(least, lack_in(session, served, *partition));
    if (++looked_in == kMostBlockers || session.queue.round.steps >= kMostSteps) break;
  }
  job_class.lacks = least.cause;
  job_class.lacks_in = session.queue.round.number;
  return job_class.lacks;
}

/// Nodes were looked at and too few had a place; or they had, but for what is planned.
void add_diagnosis(Session& session, const Served& served, const PartitionFacts& partition, const Diagnosis& planned,
                   PlacementOptions& options, Blockage& blockage) {
  const bool is_planned = !session.backfill.seen_by(served.is_guaranteed).empty();
  Placement unplanned;
  if (is_planned) {
    options.timeline = nullptr;
    unplanned = place(session.capacity(), partition, served.job.request, options);
    if (unplanned.allocation) {
      blockage.is_lasting = false;
      blockage.reason = WaitReason::kPriority;
      blockage.blockers.push_back(in_partition(BlockerKind::kPlannedStart, partition.name));
      options.timeline = &session.backfill.reserved();
      const bool is_reserved = !session.backfill.reserved().empty() &&
                               !place(session.capacity(), partition, served.job.request, options).allocation;
      could_start_but_for(blockage, is_reserved ? WaitCause::kReservation : WaitCause::kPriority);
      return;
    }
  }
  blockage.lacks_place = true;
  blockage.fitting += is_planned ? unplanned.diagnosis.fitting : planned.fitting;
  // What is only planned is not what it lacks: a node whose GPUs are kept for a job before it could hold a part.
  const bool ignores_plans = is_planned && session.backfill.reserved().empty();
  const Diagnosis& diagnosis = ignores_plans ? unplanned.diagnosis : planned;
  const auto unusable = diagnosis.ruled_out.find(BlockerKind::kUnavailableNode);
  if (diagnosis.fitting == 0 && unusable != diagnosis.ruled_out.end() && unusable->second == diagnosis.nodes)
    blockage.reason = WaitReason::kReqNodeNotAvail;
  for (Blocker& b : blockers_of(diagnosis, partition.name)) blockage.blockers.push_back(std::move(b));
}

/// Why the job does not start in a partition that is up.
void ask_in(Session& session, const Served& served, const PartitionFacts& partition, Blockage& blockage) {
  const PendingJob& job = served.job;
  const JobId first = session.in_line.first_blocked.at({served.leaf, partition.name});
  if (session.orders().in(partition.name, job.qos).is_strict() && first != job.id) {
    blockage.is_lasting = false;
    blockage.reason = WaitReason::kPriority;
    blockage.blockers.push_back(in_partition(BlockerKind::kStrictOrder, partition.name, first.text()));
    could_start_but_for(blockage, WaitCause::kPriority);
    return;
  }
  auto options = options_for(session, served, job, partition, job.time_limit);
  const auto known = served.failed.find(partition.name);
  if (!options) {
    blockage.is_lasting = false;
    blockage.reason = WaitReason::kReservation;
    blockage.blockers.push_back(*why_closed(session.view.reservations(), job, session.now, job.time_limit));
    could_start_but_for(blockage, WaitCause::kReservation);
    return;
  }
  blockage.is_lasting &= options->level == model::Locality::kAny && options->switches == 0 && job.components.empty() &&
                         job.request.exactly.empty();
  if (known != served.failed.end()) return add_diagnosis(session, served, partition, known->second, *options, blockage);
  blockage.is_lasting = false;
  const bool is_short = allows_time(session.capacity(), job, partition);
  const BlockerKind kind = !is_short                ? BlockerKind::kPartitionTimeLimit
                           : job.components.empty() ? BlockerKind::kQuotaOfWhole
                                                    : BlockerKind::kComponents;
  blockage.blockers.push_back(in_partition(kind, partition.name));
  could_start_but_for(blockage, kind == BlockerKind::kPartitionTimeLimit ? WaitCause::kPartition
                                : kind == BlockerKind::kQuotaOfWhole     ? WaitCause::kQuota
                                                                         : WaitCause::kResources);
}

void ask_why(Session& session, const Served& served, Blockage& blockage) {
  for (const std::string& name : served.job.partitions) {
    if (blockage.blockers.size() >= kMostBlockers && blockage.is_up) {
      blockage.is_lasting = false;  // what keeps it out of the others is not known
      return;
    }
    const PartitionFacts* partition = session.capacity().partition(name);
    if (partition != nullptr && partition->is_up) {
      blockage.is_up = true;
      ask_in(session, served, *partition, blockage);
    } else {
      blockage.blockers.push_back(
          in_partition(partition == nullptr ? BlockerKind::kPartitionGone : BlockerKind::kPartitionDown, name));
    }
  }
}

/// No partition that is up allows the job's time limit.
bool is_only_too_long(const model::Blockers& blockers) {
  const auto is = [](const Blocker& b, BlockerKind kind) { return b.kind == kind; };
  return std::any_of(blockers.begin(), blockers.end(),
                     [&](const Blocker& b) { return is(b, BlockerKind::kPartitionTimeLimit); }) &&
         std::all_of(blockers.begin(), blockers.end(), [&](const Blocker& b) {
           return is(b, BlockerKind::kPartitionTimeLimit) || is(b, BlockerKind::kPartitionDown) ||
                  is(b, BlockerKind::kPartitionGone) || b.scope == BlockerScope::kQos;
         });
}

/// What the quotas have to do with a wait for a place.
void add_quotas(const Session& session, const Served& served, model::Blockers& blockers) {
  const QuotaTree& tree = session.quotas().tree();
  if (tree.is_flat()) return;
  const QosNode& leaf = tree.qos(served.leaf);
  const auto has_what_it_lacks = [&](uint32_t qos) {
    if (qos == served.leaf) return false;
    for (size_t r = 0; r < served.amounts->size(); ++r)
      if ((*served.amounts)[r] > 0 && session.quotas().tally().held[qos][r] > 0) return true;
    return false;
  };
  const auto add = [&blockers](BlockerKind kind, std::string where) {
    blockers.push_back(Blocker{.kind = kind, .scope = BlockerScope::kQos, .where = std::move(where)});
  };
  const std::vector<uint32_t>& beside = leaf.parent == kNoQos ? leaf.children : tree.qos(leaf.parent).children;
  if (leaf.is_own && leaf.parent != 0 && !tree.qos(leaf.parent).preempt_children &&
      std::any_of(beside.begin(), beside.end(), has_what_it_lacks))
    add(BlockerKind::kPreemptChildren, "QOS " + tree.qos(leaf.parent).name);
  for (uint32_t s = served.leaf; s != 0; s = tree.qos(s).parent)
    if (session.quotas().standing(s, *served.amounts) == Standing::kBorrowing)
      return add(BlockerKind::kFairShare, tree.words(s));
}

}  // namespace

bool is_still_blocked(const Session& session, const PendingJob& job, const JobClass& job_class) {
  if (job_class.blocked_at == 0 || job_class.told == 0 || session.trial.has_evicted()) return false;
  const auto gained = session.capacity().gains().since(job_class.blocked_at);
  if (!gained || gained->size() > 256) return false;
  const bool one = NodeFilter(job.request, PartitionFacts{}).is_one_node();
  uint32_t fitting = one ? 0 : job_class.blocked_fitting;
  const uint32_t needed = one ? 1 : std::max(job.request.min_nodes, 1U);
  if (fitting >= needed) return false;
  std::vector<std::pair<NodeFilter, const NodeIndex*>> partitions;
  for (const std::string& name : job.partitions)
    if (const PartitionFacts* p = session.capacity().partition(name); p != nullptr)
      partitions.emplace_back(NodeFilter(job.request, *p), session.capacity().index(name));
  const auto could_take_a_part = [&](const NodeAccount& account) {
    return std::any_of(partitions.begin(), partitions.end(), [&](const auto& partition) {
      const auto& [filter, index] = partition;
      if (index->position(account.facts.id) == UINT32_MAX) return false;
      if (filter.failed_static_filter(account.facts, *account.node_class)) return false;
      return !(one ? filter.failed_filter(account, account.free, filter.all_tasks(1), filter.all_gpus())
                   : filter.failed_filter(account, account.free, filter.least_tasks()));
    });
  };
  std::vector<NodeId> nodes(gained->begin(), gained->end());
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  for (NodeId id : nodes) {
    const NodeAccount* account = session.capacity().node(id);
    if (account == nullptr || !account->facts.usable) continue;
    if (could_take_a_part(*account) && ++fitting >= needed) return false;
  }
  return true;
}

namespace {

WaitReason reason_of(const QuotaTree& tree, const Binding& binding) {
  return tree.resources()[binding.resource].starts_with(kLicense) ? WaitReason::kLicenses : WaitReason::kQosLimit;
}

WaitCause cause_of(WaitReason limit) {
  return limit == WaitReason::kLicenses ? WaitCause::kLicenses : WaitCause::kQuota;
}

}  // namespace

void tell_bound(Session& session, const Served& served, const ClassKey& key, JobClass& job_class,
                const Binding& binding) {
  std::vector<Binding> all = session.quotas().limits_in_way(served.leaf, *served.amounts, served.job.uid);
  const auto guarantee =
      served.job.preemptible ? std::nullopt : session.quotas().guarantee_in_way(served.leaf, *served.amounts);
  if (guarantee) all.push_back(*guarantee);
  if (all.empty()) all.push_back(binding);  // by what it would really be given
  model::Blockers blockers;
  for (const Binding& each : all) blockers.push_back(blocker_of(session.quotas().tree(), each));
  const WaitReason reason = reason_of(session.quotas().tree(), all.front());
  tell(session, job_class, key, reason, cause_of(reason), std::move(blockers));
}

void tell_kept_limit(Session& session, const LimitPlan& plan, const Served& served, const ClassKey& key,
                     JobClass& job_class) {
  Binding binding = plan.limit;
  binding.held = session.quotas().tally().held[binding.qos][binding.resource];
  binding.asked = (*served.amounts)[binding.resource];
  Blocker blocker = blocker_of(session.quotas().tree(), binding);
  blocker.held_by = plan.job.text();
  const WaitReason reason = reason_of(session.quotas().tree(), binding);
  tell(session, job_class, key, reason, cause_of(reason), {std::move(blocker)});
}

void tell_blocked(Session& session, const Served& served, const ClassKey& key, JobClass& job_class, bool is_known) {
  const PendingJob& job = served.job;
  Blockage blockage;
  if (is_known) {
    blockage.is_up = true;
    blockage.blockers = job_class.blocked_by;
  } else {
    ask_why(session, served, blockage);
    const model::Request& r = job.request;
    const bool is_plain = blockage.is_up && blockage.is_lasting && !session.orders().is_strict_for(job) &&
                          r.nodelist.empty() && r.exclude.empty() && job.reservation.empty() &&
                          !r.contiguous;  // a node between two others may let more than itself take part
    job_class.blocked_at = is_plain ? session.capacity().gains().version() : 0;
    job_class.blocked_fitting = blockage.fitting;
    job_class.blocked_by = blockage.blockers;
  }
  if (is_known || blockage.lacks_place) could_start_but_for(blockage, lack_of(session, served, job_class, is_known));
  add_quotas(session, served, blockage.blockers);
  const bool behind = std::any_of(job.partitions.begin(), job.partitions.end(), [&](const std::string& name) {
    const auto it = session.in_line.first_blocked.find({served.leaf, name});
    return it != session.in_line.first_blocked.end() && it->second != job.id;
  });
  if (!blockage.is_up)
    blockage.reason = WaitReason::kPartitionDown;
  else if (is_only_too_long(blockage.blockers))
    blockage.reason = WaitReason::kPartitionTimeLimit;
  else if (behind && blockage.reason == WaitReason::kResources)
    blockage.reason = WaitReason::kPriority;
  tell(session, job_class, key, blockage.reason, blockage.cause, std::move(blockage.blockers));
}

void end_round(Session& session) {
  Queue::Round& round = session.queue.round;
  if (round.steps < kMostSteps) ++round.number;
  round.steps = 0;
}

}  // namespace gw::sched
