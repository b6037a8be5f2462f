// See preemption_counts.h.
#include "ctld/core/jobs/preemption_counts.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "ctld/core/jobs/facts.h"
#include "ctld/core/shared/held.h"

namespace gw::ctld {

using model::Job;
using model::JobState;
using model::OnPreempt;
using model::Outcome;

namespace {

constexpr std::string_view kMetaPrefix = "preempted:";  // and the QOS: count, milliseconds lost

/// Milliseconds of whole GPUs that the run has worked since it began or was saved last.
uint64_t unsaved_gpu_ms(const model::Placed& placed, Time ended) {
  const Time since = std::max(placed.running_since(), placed.saved);
  if (placed.suspension && placed.suspension->since) ended = std::min(ended, placed.suspension->since);
  if (!placed.started || ended <= since) return 0;
  return static_cast<uint64_t>((ended - since).us / 1000) * placed.allocation.total_gpu_milli() / model::kWholeGpu;
}

}  // namespace

Outcome preempted(const Job& job, uint32_t beneficiary, uint32_t rule, bool is_move) {
  Outcome outcome;
  outcome.end = JobState::kPreempted;
  outcome.detail = fmt::format("{} job {}{}", is_move ? "moved to make room for" : "preempted for", beneficiary,
                               rule == 0 ? "" : fmt::format(" (rule {} of the quotas)", rule));
  // spec.requeue may have changed since it started: then it goes for good, too.
  outcome.requeue = job.spec.requeue && job.spec.on_preempt != OnPreempt::kCancel;
  outcome.preempted_for = beneficiary;
  outcome.preempt_rule = rule;
  return outcome;
}

void take_exit_as_saved(Core& core, Job& job, const Outcome& reported) {
  const bool is_clean = reported.end == JobState::kCompleted && reported.exit == model::ExitStatus{};
  if (!is_clean || job.spec.on_preempt != OnPreempt::kCheckpoint || !was_preempted(*job.placed()->outcome)) return;
  job.placed()->saved = std::max(job.placed()->saved, reported.ended);
  job.progress.saved_step = job.progress.step;
  for (Job* other : siblings(core, job)) {  // the script is that of all components
    if (other->placed() == nullptr) continue;
    other->placed()->saved = std::max(other->placed()->saved, reported.ended);
    other->progress.saved_step = other->progress.step;
    core.rows.job(*other);
  }
}

void count_preemption(Core& core, Job& job, const Outcome& outcome) {
  if (!was_preempted(outcome)) return;
  const model::Placed& placed = *job.placed();
  const uint64_t lost = unsaved_gpu_ms(placed, outcome.ended);
  count_preempted_run(core, job, lost);
  if (placed.allocation.total_gpus() > 0 && placed.started)
    core.out.job_event(job, "preempted", fmt::format("{:.1f} GPU-seconds of its work are lost", double(lost) / 1e3));
}

void count_preempted_run(Core& core, Job& job, uint64_t lost) {
  const auto& s = job.placed()->suspension;
  const bool is_counted = job.state == JobState::kCompleting && s && s->kept_id && s->for_job != 0 && !ends_turn(job);
  if (!is_counted) ++job.preemptions;
  job.lost_gpu_ms += lost;
  PreemptionFigures& figures = core.planning.preemptions[job.spec.qos];
  figures.count += is_counted ? 0 : 1;
  figures.lost_gpu_ms += lost;
  core.out.write(store::PutMeta{std::string(kMetaPrefix) + job.spec.qos,
                                fmt::format("{} {}", figures.count, figures.lost_gpu_ms)});
}

void restore_preemptions(Core& core, const store::Snapshot& snapshot) {
  for (const store::NamedBytes& row : snapshot.meta) {
    if (!row.name.starts_with(kMetaPrefix)) continue;
    const size_t blank = std::min(row.bytes.find(' '), row.bytes.size());
    const auto count = base::parse_int(row.bytes.substr(0, blank), 0, INT64_MAX, row.name);
    const auto lost = base::parse_int(row.bytes.substr(std::min(blank + 1, row.bytes.size())), 0, INT64_MAX, row.name);
    if (count && lost)
      core.planning.preemptions[row.name.substr(kMetaPrefix.size())] = {static_cast<uint64_t>(*count),
                                                                        static_cast<uint64_t>(*lost)};
    else
      hold_named(core, store::RowKind::kSetting, row.name, "it is no count of preempted runs");
  }
}

}  // namespace gw::ctld
