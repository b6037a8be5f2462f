// See reasons.h.
#include "sched/cycle/reasons.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "sched/need.h"
#include "sched/node_index.h"

namespace gw::sched {

using model::WaitReason;

namespace {

/// What keeps a job waiting.
struct Blockage {
  model::WaitReason reason = model::WaitReason::kResources;
  std::string detail;
  bool is_up = false;      ///< Some partition starts jobs.
  bool is_lasting = true;  ///< No planned start of others and no wait for something closer has a part in it.
  uint32_t fitting = 0;    ///< Nodes that could take a part.
};

void tell(Session& session, JobClass& job_class, const ClassKey& key, WaitReason reason, const std::string& detail) {
  const uint64_t said = std::hash<std::string>()(detail) * 31 + static_cast<uint64_t>(reason) + 1;
  if (job_class.told == said) return;
  job_class.told = said;
  session.plan.groups.push_back(Group{{Wait{key, reason, detail}}});
}

/// Why the job does not start in a partition that is up.
std::string why_in(Session& session, const Served& served, const PartitionFacts& partition, Blockage& blockage) {
  const PendingJob& job = served.job;
  const JobId first = session.first_blocked.at({served.leaf, partition.name});
  if (session.order().is_strict() && first != job.id) {
    blockage.is_lasting = false;
    blockage.reason = WaitReason::kPriority;
    return fmt::format("partition {} serves strictly in order: job {} is before it and waits", partition.name,
                       first.text());
  }
  auto look = look_for(session, served, job, partition, job.time_limit);
  const auto known = served.failed.find(partition.name);
  if (!look) {
    blockage.is_lasting = false;
    blockage.reason = WaitReason::kReservation;
    return *why_closed(session.view.reservations(), job, session.now, job.time_limit);
  }
  blockage.is_lasting &= look->level == model::Locality::kAny && look->switches == 0 && job.components.empty() &&
                         job.request.exactly.empty();
  if (known == served.failed.end()) {
    blockage.is_lasting = false;
    if (job.components.empty() && allows_time(session.capacity(), job, partition))
      return "what it would be given there, in whole cores and with the memory that goes with them, is more than its "
             "quotas leave it";
    return allows_time(session.capacity(), job, partition)
               ? "a component of the job finds no room beside the others"
               : fmt::format("its time limit is longer than partition {} allows", partition.name);
  }
  const Census& census = known->second;
  if (session.backfill.seen_by(served.is_guaranteed).empty()) {
    blockage.fitting += census.fitting;
  } else {
    look->timeline = nullptr;
    const Placement unplanned = place(session.capacity(), partition, job.request, *look);
    blockage.fitting += unplanned.census.fitting;
    if (unplanned.allocation) {
      blockage.is_lasting = false;
      blockage.reason = WaitReason::kPriority;
      return fmt::format(
          "there is room in partition {}, but it is promised to jobs before it or to a reservation; a shorter --time "
          "or a --time-min may fit before",
          partition.name);
    }
  }
  const auto unusable = census.ruled_out.find(Clause::kUnusable);
  if (census.fitting == 0 && unusable != census.ruled_out.end() && unusable->second == census.nodes)
    blockage.reason = WaitReason::kReqNodeNotAvail;
  return explain(census, partition.name);
}

void ask_why(Session& session, const Served& served, Blockage& blockage) {
  for (const std::string& name : served.job.partitions) {
    const PartitionFacts* partition = session.capacity().partition(name);
    if (!blockage.detail.empty()) blockage.detail += "; ";
    if (partition != nullptr && partition->is_up) {
      blockage.is_up = true;
      blockage.detail += why_in(session, served, *partition, blockage);
    } else {
      blockage.detail += fmt::format("partition {} is {}", name, partition == nullptr ? "gone" : "down");
    }
  }
}

/// What the quotas have to do with a wait for room.
std::string quota_note(const Session& session, const Served& served) {
  const QuotaTree& tree = session.quotas().tree();
  if (tree.is_flat()) return {};
  const Side& leaf = tree.side(served.leaf);
  const auto has_what_it_lacks = [&](uint32_t side) {
    if (side == served.leaf) return false;
    for (size_t r = 0; r < served.amounts->size(); ++r)
      if ((*served.amounts)[r] > 0 && session.quotas().tally().held[side][r] > 0) return true;
    return false;
  };
  const std::vector<uint32_t>& beside = leaf.parent == kNoSide ? leaf.children : tree.side(leaf.parent).children;
  if (leaf.is_own && leaf.parent != 0 && !tree.side(leaf.parent).preempt_children &&
      std::any_of(beside.begin(), beside.end(), has_what_it_lacks))
    return fmt::format("; QOS {0} has preempt_children off, so its own jobs take nothing from the QOS below it",
                       tree.side(leaf.parent).name);
  for (uint32_t s = served.leaf; s != 0; s = tree.side(s).parent)
    if (session.quotas().standing(s, *served.amounts) == Standing::kBorrowing)
      return fmt::format("; with it {} would hold more than its fair share, so it waits for what others leave idle",
                         tree.words(s));
  return {};
}

}  // namespace

bool is_still_blocked(const Session& session, const PendingJob& job, const JobClass& job_class) {
  if (job_class.blocked_at == 0 || job_class.told == 0 || session.trial.has_evicted()) return false;
  const auto gained = session.capacity().gained_since(job_class.blocked_at);
  if (!gained || gained->size() > 256) return false;
  const bool one = Need(job.request, PartitionFacts{}).is_one_node();
  uint32_t fitting = one ? 0 : job_class.blocked_fitting;
  const uint32_t needed = one ? 1 : std::max(job.request.min_nodes, 1U);
  if (fitting >= needed) return false;
  const auto could_take_a_part = [&](const NodeAccount& account) {
    return std::any_of(job.partitions.begin(), job.partitions.end(), [&](const std::string& name) {
      const PartitionFacts* p = session.capacity().partition(name);
      if (p == nullptr || session.capacity().index(name)->position(account.facts.id) == UINT32_MAX) return false;
      const Need need(job.request, *p);
      if (need.ask_static(account.facts, *account.make)) return false;
      return !(one ? need.misfit(account, account.free, need.all_tasks(1), need.all_gpus())
                   : need.misfit(account, account.free, need.least_tasks()));
    });
  };
  std::set<NodeId> seen;
  for (NodeId id : *gained) {
    const NodeAccount* account = session.capacity().node(id);
    if (account == nullptr || !account->facts.usable || !seen.insert(id).second) continue;
    if (could_take_a_part(*account) && ++fitting >= needed) return false;
  }
  return true;
}

void tell_bound(Session& session, const ClassKey& key, JobClass& job_class, const Binding& binding) {
  const QuotaTree& tree = session.quotas().tree();
  const std::string& name = tree.resources()[binding.resource];
  const std::string resource = name != kJobResource ? name : binding.bound == 1 ? "job" : "jobs";
  const auto amount = [&resource](uint64_t n) { return model::format_amount(resource, n); };
  std::string what =
      binding.is_limit ? fmt::format("the limit of {}{} is {} {}", binding.is_of_user ? "each user in " : "",
                                     tree.words(binding.side), amount(binding.bound), resource)
                       : fmt::format("it can never be taken off, so it starts only within what {} is guaranteed, {} {}",
                                     tree.words(binding.side), amount(binding.bound), resource);
  what += fmt::format(": {} held{}, {} more asked", amount(binding.held), binding.is_limit ? "" : " by such jobs",
                      amount(binding.asked));
  tell(session, job_class, key, WaitReason::kQosLimit, what);
}

void tell_blocked(Session& session, const Served& served, const ClassKey& key, JobClass& job_class, bool is_known) {
  const PendingJob& job = served.job;
  Blockage blockage;
  if (is_known) {
    blockage.is_up = true;
    blockage.detail = job_class.blocked_why;
  } else {
    ask_why(session, served, blockage);
    const model::Request& r = job.request;
    const bool is_plain = blockage.is_up && blockage.is_lasting && !session.order().is_strict() && r.nodelist.empty() &&
                          r.exclude.empty() && job.reservation.empty();
    job_class.blocked_at = is_plain ? session.capacity().gain_version() : 0;
    job_class.blocked_fitting = blockage.fitting;
    job_class.blocked_why = blockage.detail;
  }
  blockage.detail += quota_note(session, served);
  const bool behind = std::any_of(job.partitions.begin(), job.partitions.end(), [&](const std::string& name) {
    const auto it = session.first_blocked.find({served.leaf, name});
    return it != session.first_blocked.end() && it->second != job.id;
  });
  if (!blockage.is_up)
    blockage.reason = WaitReason::kPartitionDown;
  else if (behind && blockage.reason == WaitReason::kResources)
    blockage.reason = WaitReason::kPriority;
  tell(session, job_class, key, blockage.reason, blockage.detail);
}

}  // namespace gw::sched
