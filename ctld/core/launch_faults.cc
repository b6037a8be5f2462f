// Launches that fail on account of a node: the job goes elsewhere, uncharged, and a node that fails several different
// jobs in a row is drained before it eats the queue, since a node on which everything fails at once is always free.
// What counts as the node's fault the node says (containment, a shepherd that does not come up, a user database that
// does not answer); what only the job's owner can mend (a folder or a user that is not there, a script that cannot be
// executed) ends the job and blames nobody. Invariant: a job is evidence against at most kMostShunned nodes at a time;
// one that fails on more is itself suspect.
#include <fmt/format.h>

#include <algorithm>

#include "ctld/core/controller.h"
#include "sched/place.h"

namespace gw::ctld {

using base::Duration;
using model::Job;
using model::Node;

namespace {

constexpr size_t kMostShunned = 3;
constexpr Duration kShunsFor = base::minutes(10);

}  // namespace

/// What it asks for, and the nodes that lately failed to launch it left out.
model::Request Controller::asked_now(const Job& job) {
  model::Request r = job.spec.request;
  r.exclude.insert(r.exclude.end(), job.shuns.begin(), job.shuns.end());
  return r;
}

bool Controller::could_run_elsewhere(const Job& job) const {
  const model::Request least = model::least_of(asked_now(job));
  return std::any_of(job.spec.partitions.begin(), job.spec.partitions.end(), [&](const std::string& name) {
    const sched::PartitionFacts* partition = ledger_.capacity().partition(name);
    return partition != nullptr && sched::could_ever_run(ledger_.capacity(), *partition, least).has_value();
  });
}

/// These nodes failed to launch it. It is charged, which leads to a back-off and in the end to a hold, only if there is
/// nowhere else to go, or if it has failed wherever it went. Before the job is stopped, so that what follows knows.
void Controller::blame(Time now, Job& job, const std::set<NodeId>& nodes, const std::string& why) {
  const bool is_suspect = job.shuns.size() >= kMostShunned;
  if (!is_suspect) {
    for (NodeId id : nodes) {
      Node& node = nodes_.at(id);
      count_launch_fault(now, node, job.id, why);
      if (std::count(job.shuns.begin(), job.shuns.end(), node.config.name) == 0) job.shuns.push_back(node.config.name);
    }
    job.shuns_until = now + kShunsFor;
    if (could_run_elsewhere(job)) return;
  }
  job.shuns.clear();
  job.shuns_until = {};
  ++job.launch_failures;
}

void Controller::count_launch_fault(Time now, Node& node, JobId job, const std::string& why) {
  const size_t most = settings_.node_launch_failures;
  if (most == 0 || node.admin != model::NodeAdmin::kUp) return;
  auto& faults = launch_faults_[node.id];
  faults.insert(job);
  if (faults.size() < most) return;
  faults.clear();
  node.admin = model::NodeAdmin::kDrain;
  node.reason = fmt::format("launches of {} jobs in a row failed here, the last: {}", most, why);
  node.reason_time = now;
  node.reason_user = "gctld";
  nodes_.changed(node);
  out_.node_event(now, node, "drained", node.reason);
  publish_node(node);
}

/// A start that failed, and nowhere else to go: wait longer each time, and hold the job in the end.
void Controller::launch_failed(Job& job, Time now) {
  if (job.launch_failures == 0) return;
  if (job.launch_failures >= settings_.max_launch_failures) {
    job.spec.hold_admin = true;
    job.launch_failures = 0;
    rows_.job_and_spec(job);
    out_.job_event(now, job, "held", fmt::format("{} launches failed in a row", settings_.max_launch_failures));
    out_.note(fmt::format("job {} is held: {} launches failed in a row, the last: {}", job.id.value,
                          settings_.max_launch_failures, job.last_failure),
              true);
    return;
  }
  const uint32_t shift = std::min(job.launch_failures - 1, 6U);
  job.waiting()->not_before = now + base::seconds(5) * (int64_t{1} << shift);
}

void Controller::launch_succeeded(Job& job) {
  job.launch_failures = 0;
  job.shuns.clear();
  job.shuns_until = {};
  for (const model::NodeShare& share : job.placed()->allocation.shares) launch_faults_.erase(share.node);
}

/// What was wrong with a node may be mended, and others may be gone. The caller saves the job.
void Controller::shun_no_longer_than_due(Time now, Job& job) {
  if (!job.shuns_until) return;
  if (job.shuns_until <= now) {
    job.shuns.clear();
    job.shuns_until = {};
    return;
  }
  timers_.set({job.shuns_until, TimerKind::kJobEligible, job.id.value, job.attempt});
}

}  // namespace gw::ctld
