// Making the rows. See row_marks.h.
#include "ctld/core/tables/row_marks.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/hostlist.h"
#include "model/find_on.h"
#include "wire/convert.h"
#include "wire/row_bytes.h"

namespace gw::ctld {

using model::Job;
using model::Step;

namespace {

void write_job(const Job& job, bool with_spec, store::Batch& out) {
  GW_CHECK(job.is_consistent());
  if (with_spec) out.push_back(store::PutJob{row_of(job, true)});
  if (job.ended() != nullptr)
    out.push_back(store::EndJob{row_of(job, false)});
  else if (!with_spec)
    out.push_back(store::PutJobStatus{row_of(job, false)});
}

void write_run_node(const Job& job, const model::NodeShare& share, store::Batch& out) {
  out.push_back(
      store::PutRunNode{job.id, 0, share.name, job.attempt, wire::row_bytes(wire::run_node(*job.placed(), share))});
}

void write_step(const Step& step, store::Batch& out) {
  out.push_back(store::PutStep{step.job, step.number, wire::row_bytes(wire::stored_step(step))});
}

void write_step_node(const Step& step, const model::StepNode& node, store::Batch& out) {
  out.push_back(store::PutRunNode{step.job, step.number + 1, node.share.name, step.attempt,
                                  wire::row_bytes(wire::run_node(node))});
}

/// Calls `write` with those of `parts` that are marked. Parts ascend by node but for the first.
template <typename Part, typename NodeOf, typename Write>
void each_marked(const std::vector<Part>& parts, bool are_all, std::vector<base::NodeId> nodes, const NodeOf& node_of,
                 const Write& write) {
  if (are_all) {
    for (const Part& part : parts) write(part);
    return;
  }
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  for (const base::NodeId node : nodes)
    if (const auto part = model::find_on(parts, node, node_of); part != parts.end()) write(*part);
}

}  // namespace

store::JobRow row_of(const model::Job& job, bool with_spec) {
  store::JobRow row;
  row.id = job.id;
  row.state = static_cast<uint32_t>(job.state);
  row.uid = job.spec.uid;
  row.user = job.spec.user;
  row.name = job.spec.name;
  row.account = job.spec.account;
  row.qos = job.spec.qos;
  row.submitted = job.submitted;
  const model::Allocation* allocation = nullptr;
  if (const model::Placed* p = job.placed()) {
    row.partition = p->partition;
    row.started = p->started;
    allocation = &p->allocation;
  } else if (const model::Ended* e = job.ended()) {
    row.partition = e->partition;
    row.started = e->started;
    row.ended = e->ended;
    row.exit_code = e->outcome.exit.code;
    row.exit_signo = e->outcome.exit.signo;
    allocation = &e->allocation;
  }
  if (row.partition.empty() && !job.spec.partitions.empty()) row.partition = job.spec.partitions.front();
  if (allocation != nullptr) {
    row.nodes = base::compress_hostlist(allocation->node_names());
    row.node_count = static_cast<uint32_t>(allocation->shares.size());
    row.cpus = allocation->total_cpus();
    row.gpus = allocation->total_gpus();
    for (const model::NodeShare& share : allocation->shares) row.mem_mb += share.mem_mb;
  }
  if (with_spec && job.spec.array) row.array = job.spec.array->job;
  if (row.array && job.spec.array->is_task()) row.task = job.spec.array->task;
  if (with_spec) row.spec = wire::row_bytes(wire::to_wire(job.spec));
  row.status = wire::row_bytes(wire::stored_status(job));
  return row;
}

void RowMarks::past_run(const model::Job& job, const model::Outcome& outcome) {
  past_.push_back(store::PutPastRun{job.id, job.attempt, 0, wire::row_bytes(wire::past_run(job, outcome))});
}

void RowMarks::past_step(const model::Step& step, base::Time ended, model::JobState end) {
  past_.push_back(
      store::PutPastRun{step.job, step.attempt, step.number + 1, wire::row_bytes(wire::past_run(step, ended, end))});
}

void RowMarks::forgotten_job(store::AmendEnded said) { past_.push_back(std::move(said)); }

store::Batch RowMarks::take(const Jobs& jobs, const Steps& steps) {
  store::Batch out;
  for (const auto& [job, node] : std::exchange(left_, {})) out.push_back(store::DropRunNode{job, 0, node});
  for (const auto& [job, step] : std::exchange(over_, {})) {
    if (step != 0) out.push_back(store::DropStep{job, step - 1});
    out.push_back(store::DropRun{job, step});
  }
  for (const base::JobId id : std::exchange(revived_, {})) out.push_back(store::DropEnded{id});
  for (const auto& [id, mark] : std::exchange(marks_, {}))
    if (const auto job = jobs.find(id); job != jobs.end()) write_job(job->second, mark.with_spec, out);
  for (const auto& [id, marked] : std::exchange(run_nodes_, {})) {
    const auto job = jobs.find(id);
    if (job == jobs.end() || job->second.placed() == nullptr) continue;
    each_marked(
        job->second.placed()->allocation.shares, marked.are_all, marked.nodes,
        [](const model::NodeShare& share) { return share.node; },
        [&](const model::NodeShare& share) { write_run_node(job->second, share, out); });
  }
  for (const StepKey& key : std::exchange(steps_, {}))
    if (const auto step = steps.find(key); step != steps.end()) write_step(step->second, out);
  for (const auto& [key, marked] : std::exchange(step_nodes_, {})) {
    const auto step = steps.find(key);
    if (step == steps.end()) continue;
    each_marked(
        step->second.nodes, marked.are_all, marked.nodes, [](const model::StepNode& node) { return node.share.node; },
        [&](const model::StepNode& node) { write_step_node(step->second, node, out); });
  }
  for (store::Op& past : std::exchange(past_, {})) out.push_back(std::move(past));
  return out;
}

store::Batch RowMarks::take_coalesced(const Jobs& jobs, const Steps& steps) {
  store::Batch out;
  for (const base::JobId id : std::exchange(coalesced_jobs_, {}))
    if (const auto job = jobs.find(id); job != jobs.end() && job->second.ended() == nullptr)
      out.push_back(store::PutJobStatus{row_of(job->second, false)});
  for (const StepKey& key : std::exchange(coalesced_steps_, {}))
    if (const auto step = steps.find(key); step != steps.end()) write_step(step->second, out);
  return out;
}

store::Batch RowMarks::take_of(const Job& job) {
  store::Batch out;
  if (const auto mark = marks_.extract(job.id)) write_job(job, mark.mapped().with_spec, out);
  return out;
}

}  // namespace gw::ctld
