// What waiting jobs are told, and what is remembered of it so that nobody is asked twice for nothing.
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "sched/node_index.h"
#include "sched/pass.h"

namespace gw::sched {

using model::WaitReason;

/// The class found no room at all a while ago, promises aside. Have so few nodes gained anything since then that it
/// cannot have any now?
bool Pass::is_still_blocked(const PendingJob& job, const JobClass& job_class) const {
  if (job_class.blocked_at == 0 || job_class.told == 0 || !taken_.empty()) return false;
  const auto gained = view_.capacity().gained_since(job_class.blocked_at);
  if (!gained || gained->size() > 256) return false;
  const bool one = Need(job.request, PartitionFacts{}).is_one_node();
  uint32_t fitting = one ? 0 : job_class.blocked_fitting;
  const uint32_t needed = one ? 1 : std::max(job.request.min_nodes, 1U);
  if (fitting >= needed) return false;
  const auto could_take_a_part = [&](const NodeAccount& account) {
    return std::any_of(job.partitions.begin(), job.partitions.end(), [&](const std::string& name) {
      const PartitionFacts* p = view_.capacity().partition(name);
      if (p == nullptr || view_.capacity().index(name)->position(account.facts.id) == UINT32_MAX) return false;
      const Need need(job.request, *p);
      if (need.ask_static(account.facts, *account.make)) return false;
      return !(one ? need.misfit(account, account.free, need.all_tasks(1), need.all_gpus())
                   : need.misfit(account, account.free, need.least_tasks()));
    });
  };
  std::set<NodeId> seen;
  for (NodeId id : *gained) {
    const NodeAccount* account = view_.capacity().node(id);
    if (account == nullptr || !account->facts.usable || !seen.insert(id).second) continue;
    if (could_take_a_part(*account) && ++fitting >= needed) return false;
  }
  return true;
}

void Pass::tell(JobClass& job_class, const ClassKey& key, WaitReason reason, const std::string& detail) {
  const uint64_t said = std::hash<std::string>()(detail) * 31 + static_cast<uint64_t>(reason) + 1;
  if (job_class.told == said) return;
  job_class.told = said;
  plan_.groups.push_back(Group{{Wait{key, reason, detail}}});
}

/// Why the job does not start in a partition that is up.
std::string Pass::why_in(const PendingJob& job, const PartitionFacts& partition, Blockage& blockage) {
  const JobId first = first_blocked_.at({served_.leaf, partition.name});
  if (order_.is_strict() && first != job.id) {
    blockage.is_lasting = false;
    blockage.reason = WaitReason::kPriority;
    return fmt::format("partition {} serves strictly in order: job {} is before it and waits", partition.name,
                       first.text());
  }
  auto look = look_for(job, partition, job.time_limit);
  const auto known = failed_.find(partition.name);
  if (!look) {
    blockage.is_lasting = false;
    blockage.reason = WaitReason::kReservation;
    return *why_closed(view_.reservations(), job, now_, job.time_limit);
  }
  blockage.is_lasting &= look->level == model::Locality::kAny && look->switches == 0 && job.components.empty() &&
                         job.request.exactly.empty();
  if (known == failed_.end()) {
    blockage.is_lasting = false;
    if (job.components.empty() && allows_time(view_.capacity(), job, partition))
      return "what it would be given there, in whole cores and with the memory that goes with them, is more than its "
             "quotas leave it";
    return allows_time(view_.capacity(), job, partition)
               ? "a component of the job finds no room beside the others"
               : fmt::format("its time limit is longer than partition {} allows", partition.name);
  }
  const Census& census = known->second;
  if (promises().empty()) {
    blockage.fitting += census.fitting;
  } else {
    look->timeline = nullptr;
    const Placement unpromised = place(view_.capacity(), partition, job.request, *look);
    blockage.fitting += unpromised.census.fitting;
    if (unpromised.allocation) {
      blockage.is_lasting = false;
      blockage.reason = WaitReason::kPriority;
      return fmt::format(
          "there is room in partition {}, but it is promised to jobs before it or to a reservation; a shorter --time "
          "or "
          "a --time-min may fit before",
          partition.name);
    }
  }
  const auto unusable = census.ruled_out.find(Clause::kUnusable);
  if (census.fitting == 0 && unusable != census.ruled_out.end() && unusable->second == census.nodes)
    blockage.reason = WaitReason::kReqNodeNotAvail;
  return explain(census, partition.name);
}

void Pass::ask_why(const PendingJob& job, Blockage& blockage) {
  for (const std::string& name : job.partitions) {
    const PartitionFacts* partition = capacity().partition(name);
    if (!blockage.detail.empty()) blockage.detail += "; ";
    if (partition != nullptr && partition->is_up) {
      blockage.is_up = true;
      blockage.detail += why_in(job, *partition, blockage);
    } else {
      blockage.detail += fmt::format("partition {} is {}", name, partition == nullptr ? "gone" : "down");
    }
  }
}

// ---- Quotas

void Pass::tell_bound(JobClass& job_class, const Binding& binding) {
  const QuotaTree& tree = quotas_.tree();
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
  tell(job_class, *served_.key, WaitReason::kQosLimit, what);
}

/// What the quotas have to do with a wait for room.
std::string Pass::quota_note() const {
  const QuotaTree& tree = quotas_.tree();
  if (tree.is_flat()) return {};
  const Side& leaf = tree.side(served_.leaf);
  const auto has_what_it_lacks = [&](uint32_t side) {
    if (side == served_.leaf) return false;
    for (size_t r = 0; r < served_.amounts->size(); ++r)
      if ((*served_.amounts)[r] > 0 && quotas_.tally().held[side][r] > 0) return true;
    return false;
  };
  const std::vector<uint32_t>& beside = leaf.parent == kNoSide ? leaf.children : tree.side(leaf.parent).children;
  if (leaf.is_own && leaf.parent != 0 && !tree.side(leaf.parent).preempt_children &&
      std::any_of(beside.begin(), beside.end(), has_what_it_lacks))
    return fmt::format("; QOS {0} has preempt_children off, so its own jobs take nothing from the QOS below it",
                       tree.side(leaf.parent).name);
  for (uint32_t s = served_.leaf; s != 0; s = tree.side(s).parent)
    if (quotas_.standing(s, *served_.amounts) == Standing::kBorrowing)
      return fmt::format("; with it {} would hold more than its fair share, so it waits for what others leave idle",
                         tree.words(s));
  return {};
}

void Pass::tell_blocked(const PendingJob& job, JobClass& job_class, bool is_known) {
  Blockage blockage;
  if (is_known) {
    blockage.is_up = true;
    blockage.detail = job_class.blocked_why;
  } else {
    ask_why(job, blockage);
    const model::Request& r = job.request;
    const bool is_plain = blockage.is_up && blockage.is_lasting && !order_.is_strict() && r.nodelist.empty() &&
                          r.exclude.empty() && job.reservation.empty();
    job_class.blocked_at = is_plain ? capacity().gain_version() : 0;
    job_class.blocked_fitting = blockage.fitting;
    job_class.blocked_why = blockage.detail;
  }
  blockage.detail += quota_note();
  const bool behind = std::any_of(job.partitions.begin(), job.partitions.end(), [&](const std::string& name) {
    const auto it = first_blocked_.find({served_.leaf, name});
    return it != first_blocked_.end() && it->second != job.id;
  });
  if (!blockage.is_up)
    blockage.reason = WaitReason::kPartitionDown;
  else if (behind && blockage.reason == WaitReason::kResources)
    blockage.reason = WaitReason::kPriority;
  tell(job_class, *served_.key, blockage.reason, blockage.detail);
}

}  // namespace gw::sched
