// One pass: classes in the order of their best job; each is placed until it blocks; a blocked class is passed by.
#include "sched/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <set>

#include "sched/place.h"

namespace gw::sched {
namespace {

/// Position of a class in the pass: tier of its best partition, then its best job not yet decided.
struct Turn {
  int32_t tier = 0;
  Rank rank;
  ClassKey key = 0;
  bool operator<(const Turn& o) const {
    return std::tuple(-tier, rank.key(), key) < std::tuple(-o.tier, o.rank.key(), o.key);
  }
};

/// A limit longer than the partition's keeps a job out of it, unless no partition that it names is long enough: then an
/// administrator let it in.
bool allows_time(const Capacity& capacity, const PendingJob& job, const PartitionFacts& partition) {
  if (job.time_limit <= partition.max_time) return true;
  return std::none_of(job.partitions.begin(), job.partitions.end(), [&](const std::string& name) {
    const PartitionFacts* p = capacity.partition(name);
    return p != nullptr && job.time_limit <= p->max_time;
  });
}

class Pass {
 public:
  Pass(ClusterView& view, const Budget& budget) : view_(view), budget_(budget) {}
  Plan run();

 private:
  ClusterView& view_;
  const Budget& budget_;
  Plan plan_;
  uint64_t placements_ = 0;
  uint64_t starts_ = 0;
  std::vector<JobId> tentative_;         // allocated in the view for this pass only
  std::set<std::string> blocked_above_;  // partitions in which an earlier class is blocked

  int32_t tier(const PendingJob& shape) const;
  /// Starts jobs of one class until another class has a better one, it blocks or the budget ends.
  void serve(const Turn& turn, std::set<Turn>& turns);
  bool start_one(const PendingJob& shape, JobId id);
  void tell_blocked(ClassKey key, const PendingJob& shape);
  void tell(ClassKey key, model::WaitReason reason, const std::string& detail);
};

int32_t Pass::tier(const PendingJob& shape) const {
  int32_t best = INT32_MIN;
  for (const std::string& name : shape.partitions)
    if (const PartitionFacts* p = view_.capacity().partition(name)) best = std::max(best, p->tier);
  return best;
}

bool Pass::start_one(const PendingJob& shape, JobId id) {
  for (const std::string& name : shape.partitions) {
    const PartitionFacts* partition = view_.capacity().partition(name);
    if (partition == nullptr || !partition->is_up || !allows_time(view_.capacity(), shape, *partition)) continue;
    ++placements_;
    Placement placement = place(view_.capacity(), *partition, shape.request);
    if (!placement.allocation) continue;
    const auto held = view_.capacity().allocate(id, name, *placement.allocation, {}, base::Time::never());
    if (!held) continue;
    tentative_.push_back(id);
    plan_.groups.push_back(Group{{Start{id, name, std::move(*placement.allocation)}}});
    ++starts_;
    return true;
  }
  return false;
}

void Pass::serve(const Turn& turn, std::set<Turn>& turns) {
  const JobClass& c = view_.queue().classes().at(turn.key);
  auto member = c.members.find(turn.rank);
  for (; member != c.members.end(); ++member) {
    const Turn now{turn.tier, *member, turn.key};
    if (!turns.empty() && *turns.begin() < now) {  // another class has the better job: come back later
      turns.insert(now);
      return;
    }
    if (starts_ >= budget_.starts || placements_ >= budget_.placements) {
      plan_.exhausted = true;
      return;
    }
    if (!start_one(c.shape, member->id)) {
      tell_blocked(turn.key, c.shape);
      return;
    }
  }
}

void Pass::tell(ClassKey key, model::WaitReason reason, const std::string& detail) {
  const uint64_t said = std::hash<std::string>()(detail) * 31 + static_cast<uint64_t>(reason) + 1;
  JobClass& c = view_.queue().job_class(key);
  if (c.told == said) return;
  c.told = said;
  plan_.groups.push_back(Group{{Wait{key, reason, detail}}});
}

void Pass::tell_blocked(ClassKey key, const PendingJob& shape) {
  model::WaitReason reason = model::WaitReason::kResources;
  std::string detail;
  bool any_up = false, behind = false;
  for (const std::string& name : shape.partitions) {
    const PartitionFacts* partition = view_.capacity().partition(name);
    if (!detail.empty()) detail += "; ";
    if (partition == nullptr || !partition->is_up) {
      detail += fmt::format("partition {} is {}", name, partition == nullptr ? "gone" : "down");
      continue;
    }
    any_up = true;
    const Census census = place(view_.capacity(), *partition, shape.request).census;
    detail += explain(census, name);
    behind |= blocked_above_.contains(name);
    blocked_above_.insert(name);
    const auto unusable = census.ruled_out.find(Clause::kUnusable);
    if (census.fitting == 0 && unusable != census.ruled_out.end() && unusable->second == census.nodes)
      reason = model::WaitReason::kReqNodeNotAvail;
  }
  if (!any_up)
    reason = model::WaitReason::kPartitionDown;
  else if (behind && reason == model::WaitReason::kResources)
    reason = model::WaitReason::kPriority;
  tell(key, reason, detail);
}

Plan Pass::run() {
  plan_.epoch = view_.epoch();
  std::set<Turn> turns;
  for (const auto& [key, c] : view_.queue().classes()) turns.insert(Turn{tier(c.shape), *c.members.begin(), key});
  while (!turns.empty() && !plan_.exhausted) {
    const Turn turn = *turns.begin();
    turns.erase(turns.begin());
    serve(turn, turns);
  }
  for (JobId id : tentative_) view_.capacity().release_all(id);
  return std::move(plan_);
}

bool meets(const PendingJob& job, const Start& start) {
  const auto nodes = static_cast<uint32_t>(start.allocation.shares.size());
  const model::Request& r = job.request;
  if (nodes < r.min_nodes || (r.nodes_given && nodes > r.max_nodes)) return false;
  uint32_t tasks = 0;
  for (const model::NodeShare& share : start.allocation.shares) tasks += share.tasks;
  return tasks >= r.tasks && start.allocation.total_gpus() >= model::total_gpus(r, nodes);
}

}  // namespace

Plan plan(ClusterView& view, const Policy&, const Budget& budget) { return Pass(view, budget).run(); }

base::Status check(const Capacity& capacity, const PendingJob& job, const Start& start) {
  const PartitionFacts* partition = capacity.partition(start.partition);
  if (partition == nullptr || !partition->is_up) return base::invalid("partition " + start.partition + " is down");
  if (std::find(job.partitions.begin(), job.partitions.end(), start.partition) == job.partitions.end())
    return base::invalid("the job no longer names partition " + start.partition);
  if (!allows_time(capacity, job, *partition))
    return base::invalid("the time limit is longer than " + start.partition + " allows");
  if (!meets(job, start)) return base::invalid("the allocation no longer meets the request");
  for (const model::NodeShare& share : start.allocation.shares) {
    const NodeAccount* account = capacity.node(share.node);
    if (account == nullptr || !account->facts.usable) return base::invalid("node " + share.name + " is not usable");
    if (!share.cores.is_subset_of(account->free_cores) || !share.gpus.is_subset_of(account->free_gpus) ||
        share.mem_mb > account->free_mem_mb())
      return base::invalid("node " + share.name + " was given away");
    if ((partition->exclusive || job.request.exclusive) && !account->is_idle())
      return base::invalid("node " + share.name + " is not empty");
  }
  return {};
}

}  // namespace gw::sched
