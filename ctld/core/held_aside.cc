// Stored rows that cannot be read (docs/adr/0030): they are held aside, reported, shown and deleted. What depends on
// such a row goes with it; what may run of such a job goes on as a foreign run, and its nodes get no new jobs
// meanwhile.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/hostlist.h"
#include "base/text.h"
#include "ctld/core/controller.h"
#include "wire/convert.h"

namespace gw::ctld {

using store::RowKind;

namespace {

constexpr size_t kNameBytes = 200, kReasonBytes = 500;

std::string text_of(const store::HeldRow& row) { return fmt::format("{} {}: {}", row.kind, row.name, row.reason); }

}  // namespace

void Controller::hold_aside(Time now, RowKind kind, std::vector<store::KeyValue> key, const std::string& name,
                            const std::string& reason, const std::string& nodes) {
  store::HeldRow row;
  row.kind = store::word_of(kind);
  row.name = held_.free_name(row.kind, base::printable(name, kNameBytes));
  row.reason = base::printable(reason, kReasonBytes);
  row.since = now;
  row.nodes = nodes;
  out_.write(store::HoldAside{kind, std::move(key), row});
  report_held(now, row);
  held_.add(std::move(row));
}

void Controller::report_held(Time now, const store::HeldRow& row) {
  const bool is_node = row.kind == store::word_of(RowKind::kNode);
  out_.write(store::Event{now, JobId(job_of_held(row)), is_node ? row.name : "", "row held aside", text_of(row)});
  out_.note("a stored row cannot be read and is held aside: " + text_of(row), true);
}

/// Those of before, and those that the store has just found.
void Controller::restore_held(const store::Snapshot& snapshot, Time now) {
  for (store::HeldRow row : snapshot.held) {
    if (row.since.us == 0) {
      row.since = now;
      out_.write(store::PutHeld{row});
      report_held(now, row);
    }
    held_.add(std::move(row));
  }
}

/// With all rows of their runs and steps.
void Controller::hold_jobs(const store::Snapshot& snapshot, Time now, const std::map<JobId, std::string>& faults) {
  if (faults.empty()) return;
  std::map<JobId, std::set<std::string>> nodes;
  const auto add_node = [&](JobId job, const std::string& node) {
    if (nodes_.contains(node)) nodes[job].insert(node);
  };
  for (const store::PutRunNode& row : snapshot.run_nodes)
    if (faults.contains(row.job)) add_node(row.job, row.node);
  for (const store::JobRow& row : snapshot.jobs) {
    const auto fault = faults.find(row.id);
    if (fault == faults.end()) continue;
    if (const auto names = base::expand_hostlist(row.nodes))
      for (const std::string& node : *names) add_node(row.id, node);
    hold_aside(now, RowKind::kJob, {int64_t{row.id.value}}, row.id.text(), fault->second);
  }
  for (const auto& [job, names] : nodes) {
    const store::HeldRow* row = held_.find(store::word_of(RowKind::kJob), job.text());
    if (row == nullptr) continue;
    for (const std::string& node : names) held_.set_on(node, job.value, true);
    out_.write(store::PutHeld{held_.complete(*row)});
  }
  for (const store::PutStep& row : snapshot.steps)
    if (faults.contains(row.job) && held_.has_job(row.job.value))
      hold_step(snapshot, now, row, fmt::format("it goes with job {}", row.job.value));
  for (const store::PutRunNode& row : snapshot.run_nodes)
    if (row.step == 0 && faults.contains(row.job))
      hold_run_node(now, row, fmt::format("it goes with job {}", row.job.value));
}

void Controller::hold_run_node(Time now, const store::PutRunNode& row, const std::string& reason) {
  std::string name = row.job.text();
  if (row.step != 0) name += fmt::format(".{}", row.step - 1);
  const bool is_read = wire::RunNode().ParseFromString(row.bytes);
  hold_aside(now, RowKind::kRun, {int64_t{row.job.value}, int64_t{row.step}, row.node}, name + "/" + row.node,
             is_read ? reason : "it cannot be read");
}

/// With the rows of what it has on its nodes.
void Controller::hold_step(const store::Snapshot& snapshot, Time now, const store::PutStep& row,
                           const std::string& reason) {
  const std::string name = fmt::format("{}.{}", row.job.value, row.step);
  hold_aside(now, RowKind::kStep, {int64_t{row.job.value}, int64_t{row.step}}, name, reason);
  const auto run_of = [](const store::PutRunNode& run) { return std::pair(run.job, run.step); };
  const std::pair wanted(row.job, row.step + 1);
  const auto& runs = snapshot.run_nodes;
  auto run = std::lower_bound(runs.begin(), runs.end(), wanted,
                              [&](const store::PutRunNode& r, const auto& key) { return run_of(r) < key; });
  for (; run != runs.end() && run_of(*run) == wanted; ++run) hold_run_node(now, *run, "it goes with step " + name);
}

/// What may run there of jobs that are held aside, only the node knows.
void Controller::hear_of_held(const model::Node& node, const wire::Register& m) {
  std::set<uint32_t> gone = held_.jobs_on(node.config.name);
  for (const wire::RunState& run : m.runs()) {
    if (run.step() != 0 || !held_.has_job(run.job())) continue;
    gone.erase(run.job());
    held_may_run(node, run.job(), true);
  }
  for (const uint32_t job : gone) held_may_run(node, job, false);
}

void Controller::held_may_run(const model::Node& node, uint32_t job, bool may_run) {
  if (const store::HeldRow* row = held_.set_on(node.config.name, job, may_run)) out_.write(store::PutHeld{*row});
}

/// A step goes on within its job, which has room for it.
void Controller::want_held_steps(const wire::Register& m, wire::Registered& out) const {
  if (held_.rows().empty()) return;
  for (const wire::RunState& run : m.runs()) {
    if (run.step() == 0 || held_.find("step", fmt::format("{}.{}", run.job(), run.step() - 1)) == nullptr) continue;
    const model::Job* job = jobs_.find(JobId(run.job()));
    if (job == nullptr || job->attempt != run.attempt() || job->placed() == nullptr) continue;
    wire::RunState& wanted = *out.add_wanted();
    wanted.set_job(run.job());
    wanted.set_attempt(run.attempt());
    wanted.set_step(run.step());
  }
}

void Controller::held_request(Time now, ConnId conn, const Caller& caller, const wire::ApiRequest& request) {
  if (request.has_delete_held_aside()) return delete_held(now, conn, caller, request);
  list_held(now, conn, request);
}

void Controller::list_held(Time now, ConnId conn, const wire::ApiRequest& request) {
  auto fill = [this, last = HeldRows::Key()](Time at, ListPiece& piece) mutable {
    wire::ListHeldAsideReply& list = *piece.reply.mutable_list_held_aside();
    list.set_now_us(at.us);
    for (auto it = held_.rows().upper_bound(last); it != held_.rows().end(); ++it) {
      if (piece.is_full()) return false;
      last = it->first;
      const store::HeldRow& row = held_.complete(it->second);
      wire::HeldRow& shown = *list.add_rows();
      shown.set_kind(row.kind);
      shown.set_name(row.name);
      shown.set_reason(row.reason);
      shown.set_since_us(row.since.us);
      shown.set_nodes(row.nodes);
      piece.added(shown.ByteSizeLong());
    }
    return true;
  };
  begin_list(now, conn, request.id(), std::move(fill));
}

/// What runs of a job whose row goes is ended: nobody would know of it any more.
void Controller::delete_held(Time now, ConnId conn, const Caller& caller, const wire::ApiRequest& request) {
  const wire::DeleteHeldAsideRequest& asked = request.delete_held_aside();
  const store::HeldRow* found = held_.find(asked.kind(), asked.name());
  if (found == nullptr)
    return out_.refuse(conn, request.id(),
                       {base::ErrorCode::kNotFound,
                        fmt::format("no row {}:{} is held aside", base::printable(asked.kind(), 100),
                                    base::printable(asked.name(), 300)),
                        "gcontrol show heldaside lists them"});
  const store::HeldRow row = held_.complete(*found);
  held_.erase(row.kind, row.name);
  out_.write(store::DropHeld{row.kind, row.name});
  out_.event(now, "held row deleted", fmt::format("{} by {}", text_of(row), caller.user), caller.uid);
  if (const uint32_t job = job_of_held(row); job != 0)
    for (const ForeignRun& run : foreign_.of_job(job, Kin::kHeld)) stop_foreign(run);
  if (const auto names = base::expand_hostlist(row.nodes))
    for (const std::string& name : *names)
      if (const model::Node* node = nodes_.find(name)) publish_node(*node);
  wire::ApiReply out;
  out.mutable_ok();
  reply_change(now, conn, caller, request, std::move(out));
}

}  // namespace gw::ctld
