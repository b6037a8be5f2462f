// Reading and writing the rows of runs. See run_rows.h.
#include "ctld/core/rows/run_rows.h"

#include <fmt/format.h>

#include <set>

namespace gw::ctld {

RunRows RunRows::read(const std::vector<store::PutRunNode>& rows, Unread& unread) {
  RunRows out;
  for (const store::PutRunNode& row : rows) {
    wire::RunNode node;
    if (!node.ParseFromString(row.bytes) || node.share().node() != row.node) {
      unread.try_emplace({row.job, row.step}, &row);
      continue;
    }
    Run& run = out.runs_[{row.job, row.step}];
    if (row.attempt < run.attempt) continue;
    if (row.attempt > run.attempt) run = Run{row.attempt, {}};
    run.nodes[row.node] = std::move(node);
  }
  for (const auto& [run, row] : unread) out.runs_.erase(run);
  return out;
}

const wire::RunNodes& RunRows::nodes_of(base::JobId job, uint32_t step, uint32_t attempt) const {
  static const wire::RunNodes kNone;
  const auto run = runs_.find({job, step});
  return run == runs_.end() || run->second.attempt != attempt ? kNone : run->second.nodes;
}

base::Status RunRows::complete(const store::JobRow& row, wire::JobStatus& status) const {
  if (!status.has_placed() || status.placed().shares_size() > 0) return {};
  return wire::add_run_nodes(row.nodes, nodes_of(row.id, 0, status.attempt()), *status.mutable_placed());
}

base::Status RunRows::complete(const store::PutStep& row, wire::Step& step) const {
  if (step.node_list().empty()) return {};
  return wire::add_run_nodes(nodes_of(row.job, row.step + 1, step.attempt()), step);
}

base::Status RunRows::check_complete(const model::Job& job) const {
  if (job.placed() == nullptr) return {};
  const wire::RunNodes& nodes = nodes_of(job.id, 0, job.attempt);
  std::set<std::string_view> named;
  for (const model::NodeShare& share : job.placed()->allocation.shares) named.insert(share.name);
  for (const auto& [node, row] : nodes)
    if (!named.contains(node))
      return base::fail(base::ErrorCode::kInternal, "it has a run on node " + node + ", which it does not name");
  return {};
}

}  // namespace gw::ctld
