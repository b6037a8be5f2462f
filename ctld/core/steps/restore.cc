// See restore.h.
#include "ctld/core/steps/restore.h"

#include <functional>
#include <set>
#include <utility>

#include "ctld/core/shared/held.h"
#include "wire/convert.h"

namespace gw::ctld {

using model::Job;
using model::JobState;
using model::Step;
using model::StepNode;

namespace {

/// `completed`: whether what its nodes have could be put into `stored`.
base::Result<Step> read_step(const wire::Step& stored, const base::Status& completed, const wire::NodeLookup& lookup) {
  if (!completed) return tl::unexpected(completed.error());
  GW_TRY(step, wire::from_wire(stored, lookup));
  std::set<NodeId> nodes;
  for (const StepNode& node : step.nodes)
    if (!node.is_gone && (!node.share.node || !nodes.insert(node.share.node).second))
      return base::fail(base::ErrorCode::kInternal,
                        "it runs on node " + node.share.name + " twice, or nobody knows it");
  return step;
}

}  // namespace

void restore_steps(Core& core, const store::Snapshot& snapshot, const RunRows& runs, const RunRows::Unread& unread,
                   const std::function<NodeId(std::string_view)>& lookup) {
  for (const store::PutStep& row : snapshot.steps) {
    if (core.stored.held.has_job(row.job.value)) continue;  // it went with its job
    wire::Step stored;
    const bool is_read =
        stored.ParseFromString(row.bytes) && stored.job() == row.job.value && stored.step() == row.step;
    const Job* job = core.jobs.find(row.job);
    if (job == nullptr || job->placed() == nullptr || (is_read && job->attempt != stored.attempt())) {
      core.rows.step_over({row.job, row.step});
      continue;
    }
    const bool has_runs = !unread.contains({row.job, row.step + 1});
    auto step = read_step(stored, is_read && has_runs ? runs.complete(row, stored) : base::invalid("it cannot be read"),
                          lookup);
    if (!step) {
      hold_step(core, snapshot, row, step.error().what);
      continue;
    }
    if (job->state == JobState::kCompleting) step->is_ending = true;
    for (StepNode& node : step->nodes) node.address.clear();  // they say it when they are back
    const Step& kept = core.steps.keep(std::move(*step));
    if (!runs.has(row.job, row.step + 1)) core.rows.step_and_nodes(kept);  // stored before runs had rows of their own
  }
}

}  // namespace gw::ctld
