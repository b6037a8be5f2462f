// Conversions of what accounting keeps.
#include <algorithm>

#include "base/hostlist.h"
#include "wire/convert.h"

namespace gw::wire {

GpuUse to_wire(const model::GpuUse& u) {
  GpuUse w;
  w.set_gpus(u.gpus);
  w.set_seen_us(u.seen_us);
  w.set_busy_us(u.busy_us);
  w.set_idle_us(u.idle_us);
  w.set_most_busy(u.most_busy);
  w.set_most_mem(u.most_mem);
  w.set_sum_mem(u.sum_mem);
  return w;
}

RunUse to_wire(const model::RunUse& u) {
  RunUse w;
  w.set_tasks(u.tasks);
  w.set_user_us(u.user_us);
  w.set_system_us(u.system_us);
  size_t count = u.spreads.size();
  while (count > 0 && u.spreads[count - 1] == model::UseSpread()) --count;
  for (size_t k = 0; k < count; ++k) {
    const model::UseSpread& spread = u.spreads[k];
    UseSpread& to = *w.add_spreads();
    to.set_sum(spread.sum);
    to.set_most(spread.most);
    to.set_least(spread.least);
    to.set_most_task(spread.most_task);
    to.set_least_task(spread.least_task);
    to.set_most_node(*spread.most_node);
    to.set_least_node(*spread.least_node);
  }
  if (u.gpu != model::GpuUse()) *w.mutable_gpu() = to_wire(u.gpu);
  return w;
}

model::RunUse from_wire(const RunUse& w) {
  model::RunUse u;
  u.tasks = w.tasks();
  u.user_us = w.user_us();
  u.system_us = w.system_us();
  const size_t count = std::min(u.spreads.size(), static_cast<size_t>(w.spreads_size()));
  for (size_t k = 0; k < count; ++k) {
    const UseSpread& from = w.spreads(static_cast<int>(k));
    u.spreads[k] = {from.sum(),        from.most(),      from.least(),     from.most_task(),
                    from.least_task(), from.most_node(), from.least_node()};
  }
  const GpuUse& gpu = w.gpu();
  // A node says any numbers.
  u.gpu = {gpu.gpus(),
           gpu.seen_us(),
           std::min(gpu.busy_us(), gpu.seen_us()),
           std::min(gpu.idle_us(), gpu.seen_us()),
           std::min(gpu.most_busy(), 100U),
           gpu.most_mem(),
           gpu.sum_mem()};
  return u;
}

namespace {

void add_share(PastRun& to, const model::NodeShare& share) {
  to.set_tasks(to.tasks() + share.tasks);
  to.set_cpus(to.cpus() + share.cpus);
  to.set_gpus(to.gpus() + share.gpus.size());
  to.set_mem_mb(to.mem_mb() + share.mem_mb);
}

}  // namespace

namespace {

/// `Run`: model::Placed or model::Ended.
template <typename Run>
PastRun past_run_of(const model::Job& job, const Run& run, base::Duration stood_still, const model::Outcome& outcome) {
  PastRun w;
  w.set_attempt(job.attempt);
  w.set_started_us(run.started.us);
  w.set_ended_us(outcome.ended.us);
  w.set_nodes(base::compress_hostlist(run.allocation.node_names()));
  w.set_node_count(static_cast<uint32_t>(run.allocation.shares.size()));
  for (const model::NodeShare& share : run.allocation.shares) add_share(w, share);
  if (!run.allocation.shares.empty()) *w.mutable_first() = to_wire(run.allocation.shares.front());
  w.set_partition(run.partition);
  w.set_gpu_types(run.gpu_types);
  w.set_eligible_us(job.eligible.us);
  w.set_stood_still_us(stood_still.us);
  *w.mutable_outcome() = to_wire(outcome);
  return w;
}

}  // namespace

PastRun past_run(const model::Job& job, const model::Outcome& outcome) {
  if (const model::Ended* ended = job.ended()) return past_run_of(job, *ended, ended->stood_still, outcome);
  const model::Placed& placed = *job.placed();
  base::Duration still = placed.stood_still;
  if (placed.suspension && placed.suspension->since)
    still = still + std::max(outcome.ended - placed.suspension->since, base::Duration{});
  return past_run_of(job, placed, still, outcome);
}

PastRun past_run(const model::Step& step, base::Time ended, model::JobState end) {
  PastRun w;
  *w.mutable_of_step() = stored_step(step);
  w.set_attempt(step.attempt);
  w.set_step(step.number + 1);
  w.set_started_us(step.is_ready() ? step.started.us : step.created.us);
  w.set_ended_us(ended.us);
  w.set_nodes(w.of_step().node_list());
  w.set_node_count(static_cast<uint32_t>(step.nodes.size()));
  for (const model::StepNode& node : step.nodes) add_share(w, node.share);
  w.mutable_of_step()->clear_node_list();
  w.mutable_of_step()->clear_client_key();
  w.set_end(static_cast<uint32_t>(end));
  return w;
}

}  // namespace gw::wire
