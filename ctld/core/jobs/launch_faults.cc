// See launch_faults.h.
#include "ctld/core/jobs/launch_faults.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "ctld/core/jobs/facts.h"
#include "ctld/core/shared/publish.h"
#include "sched/place/place.h"

namespace gw::ctld {

using base::Duration;
using model::Job;
using model::Node;

namespace {

constexpr size_t kMostShunned = 3;
constexpr Duration kShunsFor = base::minutes(10);

bool could_run_elsewhere(const Core& core, const Job& job) {
  const model::Request least = model::least_of(asked_now(job));
  return std::any_of(job.spec.partitions.begin(), job.spec.partitions.end(), [&](const std::string& name) {
    const sched::PartitionFacts* partition = core.ledger.capacity().partition(name);
    return partition != nullptr && sched::could_ever_run(core.ledger.capacity(), *partition, least).has_value();
  });
}

void shun(const Core& core, Job& job, const Node& node) {
  if (std::count(job.shuns.begin(), job.shuns.end(), node.config.name) == 0) job.shuns.push_back(node.config.name);
  job.shuns_until = core.now + kShunsFor;
}

}  // namespace

bool is_suspect(const Core& core, const Job& job) {
  return job.shuns.size() >= kMostShunned && (job.shuns_until.us == 0 || core.now < job.shuns_until);
}

void blame(Core& core, Job& job, const std::set<NodeId>& nodes, const std::string& why) {
  if (!is_suspect(core, job)) {
    for (NodeId id : nodes) {
      Node& node = core.nodes.at(id);
      count_launch_fault(core, node, job.id, why);
      shun(core, job, node);
    }
    if (could_run_elsewhere(core, job)) return;
  }
  job.shuns.clear();
  job.shuns_until = {};
  ++job.launch_failures;
}

void count_launch_fault(Core& core, Node& node, JobId job, const std::string& why) {
  const size_t most = core.settings.node_launch_failures;
  if (most == 0 || node.admin != model::NodeAdmin::kUp) return;
  auto& faults = core.watch.launch_faults[node.id];
  faults.insert(job);
  if (faults.size() < most) return;
  faults.clear();
  drain_faulty(core, node, fmt::format("launches of {} jobs in a row failed here, the last: {}", most, why));
}

void prolog_failed(Core& core, Job& job, Node& node, std::string why) {
  const bool has_started = job.placed() != nullptr && job.placed()->started;
  const bool is_at_fault = !has_started && is_suspect(core, job);
  if (is_at_fault)
    job.launch_failures = std::max(job.launch_failures, core.settings.max_launch_failures);
  else
    shun(core, job, node);
  core.rows.job(job);  // the node does not say it again
  if (!is_at_fault) drain_faulty(core, node, std::move(why));
}

void drain_faulty(Core& core, Node& node, std::string why) {
  if (node.admin != model::NodeAdmin::kUp) return;
  node.admin = model::NodeAdmin::kDrain;
  node.reason = std::move(why);
  node.reason_time = core.now;
  node.reason_user = "gctld";
  core.nodes.changed(node);
  core.out.node_event(node, "drained", node.reason);
  publish_node(core, node);
}

void launch_failed(Core& core, Job& job) {
  if (job.launch_failures == 0) return;
  if (job.launch_failures >= core.settings.max_launch_failures) {
    job.spec.hold_admin = true;
    job.launch_failures = 0;
    core.rows.job_and_spec(job);
    core.out.job_event(job, "held", fmt::format("{} launches failed in a row", core.settings.max_launch_failures));
    core.out.note(fmt::format("job {} is held: {} launches failed in a row, the last: {}", job.id.value,
                              core.settings.max_launch_failures, job.last_failure),
                  true);
    return;
  }
  const uint32_t shift = std::min(job.launch_failures - 1, 6U);
  job.waiting()->not_before = core.now + base::seconds(5) * (int64_t{1} << shift);
}

void launch_succeeded(Core& core, Job& job) {
  job.launch_failures = 0;
  job.shuns.clear();
  job.shuns_until = {};
  for (const model::NodeShare& share : job.placed()->allocation.shares) core.watch.launch_faults.erase(share.node);
}

}  // namespace gw::ctld
