// What follows from the state about one job, without changing anything: what the scheduler is told of it, what it holds
// under which id, which other components it has.
#pragma once

#include <functional>
#include <string>

#include "ctld/core/core.h"

namespace gw::ctld {

/// As the latest plan named it.
sched::ClassKey class_of(const Core& core, const model::Job& job);
/// Does the scheduler, as it was told, put jobs of different users into different classes?
bool splits_by_user(const Core& core);
/// The id under which the job holds its share of a node.
JobId holder_on(const model::Job& job, NodeId node);
/// Tells a node's stays with a gang apart: it may leave and join again.
uint32_t generation_on(const model::Job& job, NodeId node);
/// What the job has of the node; null: nothing.
const model::NodeShare* share_on(const model::Job& job, NodeId node);
/// The other components that are still known.
std::vector<JobId> other_components(const Core& core, const model::Job& job);
std::vector<model::Job*> siblings(Core& core, const model::Job& job);
/// A gang of one node that needs to wait for nobody starts as soon as its node is ready.
bool goes_alone(const model::Job& job);
/// The job that is before the scheduler for this one: itself, or the first component.
const model::Job& leader_of(const Core& core, const model::Job& job);
/// What it asks for, and the nodes that lately failed to launch it left out.
model::Request asked_now(const model::Job& job);
/// Does any node of the partition have GPUs?
bool has_gpus(const Core& core, const std::string& partition);
/// Asks it for GPUs, or would it get those of whole nodes? `with_gpus`: the partitions that have some.
using HasGpus = std::function<bool(const std::string& partition)>;
bool may_hold_gpus(const Core& core, const model::JobSpec& spec, const HasGpus& with_gpus);
/// The budget of GPU-hours that is spent and lets the job have no more GPUs; null: none.
const BudgetOwner* spent_budget_of(const Core& core, const model::JobSpec& spec);
/// A component as the scheduler is told of it, with the first one.
sched::Component component_of(const model::Job& job);
/// The job as the scheduler is told of it, whether it waits, runs, or waits to resume.
sched::PendingJob pending_of(const Core& core, const model::Job& job);
/// The job if this is its present attempt and it is placed; else null.
model::Job* current_run(Core& core, uint32_t job, uint32_t attempt);
/// Did the run end because it was preempted?
bool was_preempted(const model::Outcome& outcome);
/// What the job holds now.
model::Allocation held_by(const model::Job& job);
/// Those whose parts would have to be suspended together cannot; nor those in a reservation, which may be over by then.
bool can_be_suspended(const model::JobSpec& spec);
/// Its processes are frozen, and it waits to resume.
/// Is it suspended, or about to be, because its turn is over? That is no preemption.
bool ends_turn(const model::Job& job);
inline bool is_suspended(const model::Job& job) { return job.state == model::JobState::kSuspended; }

}  // namespace gw::ctld
