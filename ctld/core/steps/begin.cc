// See begin.h.
#include "ctld/core/steps/begin.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ctld/core/steps/orders.h"
#include "ctld/core/steps/shares.h"

namespace gw::ctld {

using model::Job;
using model::JobState;
using model::Step;

namespace {

constexpr uint32_t kMostSteps = 4'000'000'000;

/// Not what is still to join an elastic gang, or about to leave it.
model::Allocation usable_by_steps(const Job& job) {
  model::Allocation usable = job.placed()->allocation;
  const auto& extensions = job.placed()->extensions;
  std::erase_if(usable.shares, [&](const model::NodeShare& share) {
    const auto extension = extensions.find(share.node);
    return extension != extensions.end() && (!extension->second.is_ready || extension->second.until);
  });
  return usable;
}

/// The number of tasks is the job's where somebody said one: then CPUs of a task do not give another. Whole cores, and
/// how many tasks a socket takes, are the job's where the step does not say: its cores were chosen so.
model::StepRequest request_within(const Job& job, model::StepRequest request) {
  const model::Request& of_job = job.spec.request;
  request.fills = request.fills && !of_job.tasks_given && of_job.tasks_per_node == 0;
  if (request.fills) request.tasks = 0;
  if (request.tasks_per_socket == 0) request.tasks_per_socket = of_job.tasks_per_socket;
  request.whole_cores = request.whole_cores || of_job.whole_cores;
  return request;
}

}  // namespace

void begin_first_step(Core& core, Job& job) {
  const auto line = core.clients.waiting_steps.find(job.id);
  if (line == core.clients.waiting_steps.end()) return;
  model::StepRequest& request = line->second.front().request;
  const model::Allocation& allocation = job.placed()->allocation;
  request.min_nodes = request.max_nodes = static_cast<uint32_t>(allocation.shares.size());
  if (request.tasks == 0 && !request.fills)
    for (const model::NodeShare& share : allocation.shares) request.tasks += share.tasks;
  begin_waiting_steps(core, job);
}

base::Result<bool> begin_step(Core& core, Job& job, const StepWait& wait) {
  Taken taken, by_own;
  for (Step* step : core.steps.of(job.id)) {
    take(*step, taken);
    if (std::find(wait.beside.begin(), wait.beside.end(), step->number) != wait.beside.end()) take(*step, by_own);
  }
  const auto topology_of = [&core](NodeId node) { return core.nodes.at(node).topology.get(); };
  const model::StepRequest request = request_within(job, wait.request);
  GW_TRY(shares, divide(usable_by_steps(job), request, taken, topology_of));
  if (shares.empty() && !wait.beside.empty()) {
    GW_TRY(beside_own, divide(usable_by_steps(job), request, by_own, topology_of));
    if (beside_own.empty())
      return base::fail(base::ErrorCode::kConflict,
                        fmt::format("job {} is too small for all parts that are to run together", job.id.value),
                        "ask for fewer tasks or CPUs in each of them");
  }
  if (shares.empty()) return false;
  model::Placed& placed = *job.placed();
  if (placed.next_step >= kMostSteps)
    return base::fail(base::ErrorCode::kUnavailable, fmt::format("job {} has had too many steps", job.id.value));
  Step step;
  step.job = job.id;
  step.attempt = job.attempt;
  step.number = placed.next_step++;
  step.uid = job.spec.uid;
  step.client_key = wait.client_key;
  step.request = request;
  step.created = core.now;
  for (model::NodeShare& share : shares) step.nodes.push_back({std::move(share), {}, {}, false});
  const Step& kept = core.steps.keep(std::move(step));
  core.rows.job(job);
  core.rows.step_and_nodes(kept);
  if (wait.request_id != 0)
    core.clients.step_waiters.emplace(std::pair(job.id, kept.number), Waiter{wait.conn, wait.request_id});
  const wire::StartStep common = start_of(core, job, kept);
  for (size_t i = 0; i < kept.nodes.size(); ++i) send_start_step(core, job, kept, i, common);
  return true;
}

void tell_step_waiters(Core& core, const Step& step, const base::Error& error) {
  const auto range = core.clients.step_waiters.equal_range({step.job, step.number});
  for (auto it = range.first; it != range.second; ++it) core.out.refuse(it->second.conn, it->second.request_id, error);
  core.clients.step_waiters.erase(range.first, range.second);
}

void begin_waiting_steps(Core& core, Job& job) {
  const auto line = core.clients.waiting_steps.find(job.id);
  if (line == core.clients.waiting_steps.end()) return;
  while (!line->second.empty() && job.state == JobState::kRunning) {
    const StepWait& first = line->second.front();
    const auto begun = begin_step(core, job, first);
    if (begun && !*begun) return;
    if (!begun && first.request_id != 0) core.out.refuse(first.conn, first.request_id, begun.error());
    line->second.pop_front();
  }
  if (line->second.empty()) core.clients.waiting_steps.erase(line);
}

void refuse_steps(Core& core, JobId id, const std::string& why) {
  const base::Error error{base::ErrorCode::kConflict, fmt::format("job {} is ending: {}", id.value, why), ""};
  if (const auto line = core.clients.waiting_steps.find(id); line != core.clients.waiting_steps.end()) {
    for (const StepWait& wait : line->second)
      if (wait.request_id != 0) core.out.refuse(wait.conn, wait.request_id, error);
    core.clients.waiting_steps.erase(line);
  }
  for (Step* step : core.steps.of(id)) {
    tell_step_waiters(core, *step, error);
    step->is_ending = true;  // the nodes end them with the job
  }
}

void drop_step(Core& core, StepKey key) {
  core.rows.step_over(key);
  core.steps.drop(key);
}

}  // namespace gw::ctld
