// See held.h.
#include "ctld/core/shared/held.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/hostlist.h"
#include "base/text.h"

namespace gw::ctld {

using store::RowKind;

namespace {

constexpr size_t kNameBytes = 200, kReasonBytes = 500;

void report_held(Core& core, const store::HeldRow& row) {
  const bool is_node = row.kind == store::word_of(RowKind::kNode);
  core.out.write(
      store::Event{core.now, JobId(job_of_held(row)), is_node ? row.name : "", "row held aside", text_of(row)});
  core.out.note("a stored row cannot be read and is held aside: " + text_of(row), true);
}

void hold_run_node(Core& core, const store::PutRunNode& row, const std::string& reason) {
  std::string name = row.job.text();
  if (row.step != 0) name += fmt::format(".{}", row.step - 1);
  const bool is_read = wire::RunNode().ParseFromString(row.bytes);
  hold_aside(core, RowKind::kRun, {int64_t{row.job.value}, int64_t{row.step}, row.node}, name + "/" + row.node,
             is_read ? reason : "it cannot be read");
}

}  // namespace

std::string text_of(const store::HeldRow& row) { return fmt::format("{} {}: {}", row.kind, row.name, row.reason); }

void hold_aside(Core& core, RowKind kind, std::vector<store::KeyValue> key, const std::string& name,
                const std::string& reason, const std::string& nodes) {
  store::HeldRow row;
  row.kind = store::word_of(kind);
  row.name = core.stored.held.free_name(row.kind, base::printable(name, kNameBytes));
  row.reason = base::printable(reason, kReasonBytes);
  row.since = core.now;
  row.nodes = nodes;
  core.out.write(store::HoldAside{kind, std::move(key), row});
  report_held(core, row);
  core.stored.held.add(std::move(row));
}

void restore_held(Core& core, const store::Snapshot& snapshot) {
  for (store::HeldRow row : snapshot.held) {
    if (row.since.us == 0) {
      row.since = core.now;
      core.out.write(store::PutHeld{row});
      report_held(core, row);
    }
    core.stored.held.add(std::move(row));
  }
}

void hold_jobs(Core& core, const store::Snapshot& snapshot, const std::map<JobId, std::string>& faults) {
  if (faults.empty()) return;
  std::map<JobId, std::set<std::string>> nodes;
  const auto add_node = [&](JobId job, const std::string& node) {
    if (core.nodes.contains(node)) nodes[job].insert(node);
  };
  for (const store::PutRunNode& row : snapshot.run_nodes)
    if (faults.contains(row.job)) add_node(row.job, row.node);
  for (const store::JobRow& row : snapshot.jobs) {
    const auto fault = faults.find(row.id);
    if (fault == faults.end()) continue;
    if (const auto names = base::expand_hostlist(row.nodes))
      for (const std::string& node : *names) add_node(row.id, node);
    hold_aside(core, RowKind::kJob, {int64_t{row.id.value}}, row.id.text(), fault->second);
  }
  for (const auto& [job, names] : nodes) {
    const store::HeldRow* row = core.stored.held.find(store::word_of(RowKind::kJob), job.text());
    if (row == nullptr) continue;
    for (const std::string& node : names) core.stored.held.set_on(node, job.value, true);
    core.out.write(store::PutHeld{core.stored.held.complete(*row)});
  }
  for (const store::PutStep& row : snapshot.steps)
    if (faults.contains(row.job) && core.stored.held.has_job(row.job.value))
      hold_step(core, snapshot, row, fmt::format("it goes with job {}", row.job.value));
  for (const store::PutRunNode& row : snapshot.run_nodes)
    if (row.step == 0 && faults.contains(row.job))
      hold_run_node(core, row, fmt::format("it goes with job {}", row.job.value));
}

void hold_step(Core& core, const store::Snapshot& snapshot, const store::PutStep& row, const std::string& reason) {
  const std::string name = fmt::format("{}.{}", row.job.value, row.step);
  hold_aside(core, RowKind::kStep, {int64_t{row.job.value}, int64_t{row.step}}, name, reason);
  const auto run_of = [](const store::PutRunNode& run) { return std::pair(run.job, run.step); };
  const std::pair wanted(row.job, row.step + 1);
  const auto& runs = snapshot.run_nodes;
  auto run = std::lower_bound(runs.begin(), runs.end(), wanted,
                              [&](const store::PutRunNode& r, const auto& key) { return run_of(r) < key; });
  for (; run != runs.end() && run_of(*run) == wanted; ++run) hold_run_node(core, *run, "it goes with step " + name);
}

void hear_of_held(Core& core, const model::Node& node, const wire::Register& m) {
  std::set<uint32_t> gone = core.stored.held.jobs_on(node.config.name);
  for (const wire::RunState& run : m.runs()) {
    if (run.step() != 0 || !core.stored.held.has_job(run.job())) continue;
    gone.erase(run.job());
    held_may_run(core, node, run.job(), true);
  }
  for (const uint32_t job : gone) held_may_run(core, node, job, false);
}

void held_may_run(Core& core, const model::Node& node, uint32_t job, bool may_run) {
  if (const store::HeldRow* row = core.stored.held.set_on(node.config.name, job, may_run))
    core.out.write(store::PutHeld{*row});
}

void want_held_steps(const Core& core, const wire::Register& m, wire::Registered& out) {
  if (core.stored.held.rows().empty()) return;
  for (const wire::RunState& run : m.runs()) {
    if (run.step() == 0 || core.stored.held.find("step", fmt::format("{}.{}", run.job(), run.step() - 1)) == nullptr)
      continue;
    const model::Job* job = core.jobs.find(JobId(run.job()));
    if (job == nullptr || job->attempt != run.attempt() || job->placed() == nullptr) continue;
    wire::RunState& wanted = *out.add_wanted();
    wanted.set_job(run.job());
    wanted.set_attempt(run.attempt());
    wanted.set_step(run.step());
  }
}

}  // namespace gw::ctld
