// What people are shown of a step: one function per value, over the messages as they came.
// Invariant: a row has a step, or it is its job's own: its batch script, or an allocation without one as a whole. The
// job of a step may be unknown.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "client/show/job_view.h"

namespace gw::client {

/// A step with its job, or a job's own row, and the controller's time at the answer.
struct StepRow {
  const wire::Step* step = nullptr;  ///< Null: the own row of `job`.
  const wire::Job* job = nullptr;    ///< Null: the controller no longer lists it, or not yet.
  base::Time now;
};

/// Has the job, which runs, a batch script, or is it an allocation? One for a single step is that step.
bool has_own_row(const wire::Job& job);
/// Is it an allocation?
bool is_extern(const StepRow& row);

uint32_t job_id(const StepRow& row);
/// Absent: the job's own row.
std::optional<uint32_t> step_number(const StepRow& row);
/// "7.0", "7.batch", "7.extern"
std::string step_id(const StepRow& row);
/// By job, and in it its own row before the steps by their numbers.
bool is_listed_before(const StepRow& a, const StepRow& b);

std::string name_of(const StepRow& row);
uint32_t uid_of(const StepRow& row);
/// PENDING: not all of its shepherds are ready. COMPLETING: it is being ended.
model::JobState state_of(const StepRow& row);
/// Zero while it has not started.
base::Time start_of(const StepRow& row);
base::Duration run_time(const StepRow& row);
/// The parts of the job's allocation that it has, by node: a batch script the whole of its node, an
/// allocation all.
std::vector<const wire::NodeShare*> shares_of(const StepRow& row);
/// As a host list.
std::string node_list(const StepRow& row);
uint32_t cpu_count(const StepRow& row);
uint32_t task_count(const StepRow& row);
uint32_t gpu_count(const wire::NodeShare& share);
/// "gres/gpu:4" of its first node, "gres/shard:250" of a part of one; empty: none.
std::string gpus_per_node(const StepRow& row);
/// "cpu=4,mem=8G,node=1,gres/gpu=8"
std::string tres_of(const StepRow& row);

}  // namespace gw::client
