// See record_rows.h.
#include "client/records/record_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/bitset.h"
#include "base/hostlist.h"
#include "client/show/array_view.h"
#include "client/show/job_view.h"
#include "wire/convert.h"

namespace gw::client {
namespace {

using model::JobState;
using model::RunUse;

/// What Slurm's accounting says of a job that a limit of memory ended.
constexpr model::ExitStatus kOutOfMemoryExit = {0, 125};

JobState end_in(uint32_t number, JobState otherwise) {
  return number < static_cast<uint32_t>(model::kJobStateCount) ? static_cast<JobState>(number) : otherwise;
}

/// A job that was told to end says nothing by its signal.
model::ExitStatus exit_of_job(JobState end, const wire::Outcome* outcome) {
  if (end == JobState::kOutOfMemory) return kOutOfMemoryExit;
  if (outcome == nullptr) return {};
  const bool is_told = end != JobState::kFailed && end != JobState::kCompleted;
  return is_told && outcome->exit_signo() != 0 ? model::ExitStatus{}
                                               : model::ExitStatus{outcome->exit_code(), outcome->exit_signo()};
}

std::string state_text(JobState end, const wire::Outcome* outcome) {
  std::string text(model::long_name(end));
  const bool is_said = outcome != nullptr && outcome->cancelled_by() != UINT32_MAX;  // else by somebody who is private
  if (end == JobState::kCancelled && is_said) text += fmt::format(" by {}", outcome->cancelled_by());
  return text;
}

/// Of a script that was stopped with its job.
std::string state_of_script(JobState end) {
  const bool is_own =
      end == JobState::kCompleted || end == JobState::kFailed || end == JobState::kOutOfMemory || !model::is_end(end);
  return std::string(model::long_name(is_own ? end : JobState::kCancelled));
}

std::shared_ptr<const RunUse> use_of(const wire::RunUse& use) {
  if (use.tasks() == 0 && use.user_us() == 0 && use.system_us() == 0) return nullptr;
  return std::make_shared<const RunUse>(wire::from_wire(use));
}

base::Duration between(base::Time from, base::Time to, base::Duration less) {
  return from ? std::max(to - from - less, base::Duration{}) : base::Duration{};
}

const wire::Outcome* outcome_of(const wire::JobStatus& status) {
  if (status.has_ended()) return &status.ended().outcome();
  return status.has_placed() && status.placed().has_outcome() ? &status.placed().outcome() : nullptr;
}

RecordSize asked_of(const wire::Job& job) {
  return {node_count(job), task_count(job), cpu_count(job), gpu_count(job), memory_mb(job)};
}

/// What a script's node had of the job; of one that runs about that.
RecordSize size_on(const wire::NodeShare& first, const RecordSize& all) {
  if (first.node().empty())
    return {1, 1, all.cpus / std::max(all.nodes, 1U), all.gpus / std::max(all.nodes, 1U),
            all.mem_mb / std::max(all.nodes, 1U)};
  const auto gpus = base::IndexSet::parse(first.gpus());
  return {1, 1, first.cpus(), gpus ? static_cast<uint32_t>(gpus->size()) : 0, first.mem_mb()};
}

/// The first of a host list.
std::string first_of(const std::string& nodes) {
  const auto names = base::expand_hostlist(nodes);
  return names && !names->empty() ? names->front() : std::string();
}

/// What the rows of a run come to, for the job's own. Its GPUs were looked at whatever used them.
std::shared_ptr<const RunUse> sum_of(const std::vector<RecordRow>& rows, size_t from, const wire::Outcome* outcome) {
  RunUse sum;
  if (outcome != nullptr) sum.gpu = wire::from_wire(outcome->use()).gpu;
  for (size_t i = from; i < rows.size(); ++i)
    if (const RunUse* use = rows[i].use.get()) {
      sum.user_us += use->user_us;
      sum.system_us += use->system_us;
    }
  return sum.empty() ? nullptr : std::make_shared<const RunUse>(std::move(sum));
}

}  // namespace

Records::Records(wire::ListRecordsReply reply) : reply_(std::move(reply)) {
  std::map<uint32_t, wire::JobRecord*> last;  // what came later holds
  for (wire::JobRecord& record : *reply_.mutable_records()) last[record.id()] = &record;
  for (const auto& [id, record] : last) {
    auto entry = std::make_unique<Entry>();
    entry->job.set_id(id);
    entry->job.mutable_spec()->Swap(record->mutable_spec());
    entry->job.mutable_status()->Swap(record->mutable_status());
    entry->record = record;
    entries_.push_back(std::move(entry));
  }
  const auto place = [](const auto& entry) { return order_of_id({&entry->job, {}, nullptr, {}}); };
  std::ranges::stable_sort(entries_, {}, place);
}

std::vector<RecordRow> Records::rows(bool jobs_alone, bool all_runs) const {
  std::vector<RecordRow> rows;
  for (const auto& entry : entries_) {
    // One that waits again has no other attempt yet than that of its last run.
    const bool is_over = entry->record->started_us() == 0;
    for (const wire::PastRun& run : entry->record->runs())
      if (all_runs && run.step() == 0 && (is_over || run.attempt() != entry->job.status().attempt()))
        add_run(*entry, &run, jobs_alone, rows);
    add_run(*entry, nullptr, jobs_alone, rows);
  }
  return rows;
}

void Records::add_run(const Entry& entry, const wire::PastRun* past, bool jobs_alone,
                      std::vector<RecordRow>& rows) const {
  const uint32_t attempt = past == nullptr ? entry.job.status().attempt() : past->attempt();
  const size_t first = rows.size();
  rows.push_back(past == nullptr ? job_row(entry) : past_row(entry, *past));
  const RecordRow job = rows.back();
  if (!job.started) return;
  const bool is_batch = entry.job.spec().kind() == static_cast<uint32_t>(model::JobKind::kBatch);
  const JobState end = job.outcome == nullptr ? state_of(entry.job) : end_in(job.outcome->end(), JobState::kCompleted);
  if (is_batch && entry.job.spec().het_offset() == 0) {
    RecordRow& batch = rows.emplace_back(job);
    batch.kind = RecordKind::kBatch;
    batch.id += ".batch", batch.raw_id += ".batch";
    batch.state = state_of_script(end);
    const wire::NodeShare& share = past == nullptr ? entry.record->first() : past->first();
    batch.size = size_on(share, job.size);
    batch.nodes = share.node().empty() ? first_of(job.nodes) : share.node();
    if (job.outcome != nullptr && end != JobState::kOutOfMemory)
      batch.exit = {job.outcome->exit_code(), job.outcome->exit_signo()};
    batch.use = job.outcome == nullptr ? nullptr : use_of(job.outcome->use());
  }
  RecordRow& around = rows.emplace_back(job);
  around.kind = RecordKind::kExtern;
  around.id += ".extern", around.raw_id += ".extern";
  around.size.tasks = around.size.nodes;
  around.exit = {};
  if (job.ended) around.state = state_of_script(end == JobState::kFailed ? JobState::kCompleted : end);
  for (const wire::PastRun& run : entry.record->runs())
    if (run.step() != 0 && run.attempt() == attempt) rows.push_back(step_row(job, run));
  rows[first].use = sum_of(rows, first + 1, job.outcome);
  if (jobs_alone) rows.resize(first + 1);
}

RecordRow Records::job_row(const Entry& entry) const {
  const wire::JobStatus& status = entry.job.status();
  RecordRow row;
  row.job = &entry.job;
  row.outcome = outcome_of(status);
  row.id = shown_id(entry.job);
  row.raw_id = std::to_string(entry.job.id());
  row.partition = entry.record->partition();
  row.nodes = entry.record->nodes();
  row.eligible = {status.eligible_us()};
  row.started = {entry.record->started_us()};
  row.derived_exit = {status.derived_code(), status.derived_signo()};
  // One whose processes are gone is over, whatever is still tidied up; one that will run again is not.
  const bool is_over =
      status.has_ended() || (row.outcome != nullptr && !row.outcome->requeue() && row.outcome->ended_us() != 0);
  if (is_over) row.ended = {status.has_ended() ? entry.record->ended_us() : row.outcome->ended_us()};
  const JobState state = is_over ? end_in(row.outcome->end(), state_of(entry.job)) : state_of(entry.job);
  row.state = is_over ? state_text(state, row.outcome) : std::string(model::long_name(state));
  if (is_over) row.exit = exit_of_job(state, row.outcome);
  row.suspended = stood_still(entry.job);
  base::Time until = is_over ? row.ended : now();
  if (const base::Time since = suspended_at(entry.job); since && !is_over) until = std::min(until, since);
  row.elapsed = between(row.started, until, row.suspended);
  row.has_size = entry.record->node_count() != 0;
  row.size = row.has_size ? RecordSize{entry.record->node_count(), task_count(entry.job), entry.record->cpus(),
                                       entry.record->gpus(), entry.record->mem_mb()}
                          : asked_of(entry.job);
  return row;
}

RecordRow Records::past_row(const Entry& entry, const wire::PastRun& run) {
  RecordRow row;
  row.job = &entry.job;
  row.run = &run;
  row.outcome = &run.outcome();
  row.id = shown_id(entry.job);
  row.raw_id = std::to_string(entry.job.id());
  row.partition = run.partition();
  row.nodes = run.nodes();
  row.eligible = {run.eligible_us()};
  row.started = {run.started_us()};
  row.ended = {run.ended_us()};
  row.suspended = base::Duration{run.stood_still_us()};
  row.elapsed = between(row.started, row.ended, row.suspended);
  const JobState end = end_in(run.outcome().end(), JobState::kCancelled);
  // One that was requeued after its end had come to it.
  const bool is_told = end == JobState::kPreempted || end == JobState::kNodeFail || !run.outcome().requeue();
  row.state = is_told ? std::string(model::long_name(end)) : "REQUEUED";
  if (!run.outcome().requeue()) row.exit = exit_of_job(end, row.outcome);
  row.has_size = true;
  row.size = {run.node_count(), run.tasks(), run.cpus(), run.gpus(), run.mem_mb()};
  return row;
}

RecordRow Records::step_row(const RecordRow& job, const wire::PastRun& run) const {
  RecordRow row;
  row.job = job.job;
  row.run = &run;
  row.outcome = job.outcome;
  row.kind = RecordKind::kStep;
  row.id = fmt::format("{}.{}", job.id, run.step() - 1);
  row.raw_id = fmt::format("{}.{}", job.raw_id, run.step() - 1);
  row.nodes = run.nodes();
  row.started = {run.started_us()};
  row.ended = {run.ended_us()};
  row.elapsed = between(row.started, row.ended ? row.ended : now(), {});
  row.state = model::long_name(end_in(run.end(), JobState::kRunning));
  row.exit = {run.of_step().exit_code(), run.of_step().exit_signo()};
  if (run.of_step().is_out_of_memory()) row.exit = kOutOfMemoryExit;
  row.has_size = true;
  row.size = {run.node_count(), run.of_step().request().tasks(), run.cpus(), run.gpus(), run.mem_mb()};
  if (row.size.tasks == 0) row.size.tasks = run.tasks();
  row.use = use_of(run.of_step().use());
  return row;
}

}  // namespace gw::client
