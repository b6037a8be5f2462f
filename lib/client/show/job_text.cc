// scontrol show job.
#include "client/show/job_text.h"

#include <fmt/format.h>

#include <vector>

#include "base/bitset.h"
#include "base/text.h"
#include "client/show/array_view.h"
#include "client/show/attribute_text.h"
#include "client/show/record.h"
#include "model/job.h"

namespace gw::client {
namespace {

std::string text_or_null(const std::string& text) { return or_else(text, "(null)"); }

/// The key of the attribute that has this option.
consteval std::string_view key(std::string_view option) { return wire::attribute(option).show_key; }

/// Those that have a line of their own.
const std::vector<const wire::JobAttribute*>& shown_by_row() {
  static const std::vector<const wire::JobAttribute*> shown = [] {
    std::vector<const wire::JobAttribute*> found;
    for (const wire::JobAttribute& a : wire::kJobAttributes)
      if (a.shown == wire::Shown::kByRow && !a.show_key.empty()) found.push_back(&a);
    return found;
  }();
  return shown;
}

/// Not of an allocation or a step: their streams are at their client.
bool has_script(const wire::Job& job) { return job.spec().kind() == static_cast<uint32_t>(model::JobKind::kBatch); }

void add_identity(Record& r, const wire::Job& job) {
  const wire::JobSpec& s = job.spec();
  r.line().put("JobId", job.id());
  if (s.has_array()) {
    r.put("ArrayJobId", array_of(job)).put("ArrayTaskId", or_else(array_tasks({&job, {}, nullptr, {}}), "N/A"));
    if (const uint32_t throttle = job.status().tasks().throttle(); throttle > 0) r.put("ArrayTaskThrottle", throttle);
  }
  if (s.het_job() != 0)
    r.put("HetJobId", s.het_job())
        .put("HetJobOffset", s.het_offset())
        .put("HetJobIdSet", fmt::format("{}-{}", s.het_job(), s.het_job() + s.het_size() - 1));
  r.put(key("job-name"), text_or_null(s.name()));
  r.line()
      .put("UserId", s.user() + "(" + std::to_string(s.uid()) + ")")
      .put("GroupId", s.group() + "(" + std::to_string(s.gid()) + ")")
      .put("MCS_label", "N/A");
  r.line()
      .put(key("priority"), priority_of(job))
      .put(key("nice"), s.nice())
      .put(key("account"), text_or_null(s.account()))
      .put(key("qos"), text_or_null(s.qos()));
}

/// "2-8 nodes"
std::string elastic_range(const wire::Request& r) {
  return r.min_tasks() > 0 ? fmt::format("{}-{} tasks", r.min_tasks(), r.tasks())
                           : fmt::format("{}-{} nodes", r.min_nodes(), r.max_nodes());
}

void add_state(Record& r, const JobRow& row, bool detail) {
  const wire::Job& job = *row.job;
  r.line()
      .put("JobState", model::long_name(state_of(job)))
      .put("Reason", reason_word(job))
      .put(key("dependency"), dependency_text(job));
  if (const std::string more = reason_detail(job); !more.empty()) r.line().put("ReasonDetail", more);
  r.line()
      .put(key("requeue"), job.spec().requeue() ? 1 : 0)
      .put("Restarts", job.status().restarts())
      .put("BatchFlag", job.spec().het_offset() == 0 && has_script(job) ? 1 : 0)
      .put("Reboot", 0)
      .put("ExitCode", exit_code(job));
  if (detail)
    r.line().put("DerivedExitCode",
                 model::ExitStatus{job.status().derived_code(), job.status().derived_signo()}.text());
  // What Slurm has no line for.
  r.line()
      .put(key("on-preempt"), on_preempt_of(job))
      .put("Preemptions", job.status().preemptions())
      .put("LostGpuSeconds", fmt::format("{:.1f}", lost_gpu_seconds(job)))
      .put("AttainedGpuSeconds", fmt::format("{:.1f}", attained_gpu_seconds(job, row.now)));
  if (job.status().has_progress())
    r.line()
        .put("Progress", or_else(progress_of(job), "N/A"))
        .put("StepsPerSecond", or_else(step_rate_of(job), "N/A"))
        .put("Scaling", job.status().progress().other_tasks() == 0
                            ? "N/A"
                            : fmt::format("{:.2f}", job.status().progress().scaling() / 100.0))
        .put("ToldEnd", job.status().progress().has_overrun() ? "overrun" : show_time(told_end(job), "N/A"));
  if (const std::string waited = waited_text(job); !waited.empty()) r.line().put("WaitedFor", waited);
  if (job.status().waiting().has_start_range())
    r.line().put("StartRange", start_range(job)).put("LikelyStart", likely_start(job));
  if (job.spec().preempt_signo() != 0) r.put(key("preempt-signal"), job.spec().preempt_signo());
  if (job.spec().request().elastic()) r.line().put(key("elastic"), elastic_range(job.spec().request()));
  if (suspended_at(job)) r.line().put("Suspended", why_suspended(job));
  if (row.label == nullptr) return;
  r.line().put("Quota", quota_text(row.label));
  if (row.label->has_fair())
    r.put("FairShare",
          row.label->is_beyond_fair() ? "beyond at " + base::printable(row.label->beyond_fair_at()) : "within");
  r.put("PreemptibleBy", preemptors_text(row.label));
}

/// One that is not yet may become so at its begin.
base::Time eligible_at(const wire::Job& job) {
  const base::Time at{job.status().eligible_us()};
  return at ? at : base::Time{job.spec().begin_us()};
}

/// "1-2" while it waits for either; else how many it has.
std::string nodes_text(const wire::Job& job) {
  const wire::Request& q = job.spec().request();
  const bool is_range = state_of(job) == model::JobState::kPending && q.max_nodes() > q.min_nodes();
  return is_range ? fmt::format("{}-{}", q.min_nodes(), q.max_nodes()) : std::to_string(node_count(job));
}

std::string time_min(const wire::Job& job) {
  const base::Duration least{job.spec().time_min_us()};
  return least.us > 0 ? base::format_duration(least) : "N/A";
}

void add_times(Record& r, const JobRow& row) {
  const wire::Job& job = *row.job;
  r.line()
      .put("RunTime", base::format_duration(run_time(row)))
      .put(key("time"), base::format_duration(time_limit(job)))
      .put(key("time-min"), time_min(job));
  r.line()
      .put("SubmitTime", show_time({job.status().submitted_us()}, "Unknown"))
      .put("EligibleTime", show_time(eligible_at(job), "Unknown"));
  r.line().put("AccrueTime", show_time({job.status().eligible_us()}, "Unknown"));
  const base::Time start = start_of(job);
  r.line()
      .put("StartTime", show_time(start ? start : expected_start(job), "Unknown"))
      .put("EndTime", show_time(end_of(job), "Unknown"))
      .put(key("deadline"), show_time({job.spec().deadline_us()}, "N/A"));
  const base::Time suspended = suspended_at(job);
  r.line()
      .put("SuspendTime", show_time(suspended, "None"))
      .put("SecsPreSuspend", suspended ? (suspended - start - stood_still(job)).seconds() : 0);
}

void add_place(Record& r, const wire::Job& job) {
  const wire::Request& q = job.spec().request();
  r.line().put(key("partition"), partition_of(job)).put("AllocNode:Sid", job.spec().submit_host() + ":0");
  r.line()
      .put(key("nodelist"), or_else(host_list(q.nodelist()), "(null)"))
      .put(key("exclude"), or_else(host_list(q.exclude()), "(null)"));
  r.line().put("NodeList", node_list(job));
  if (!shares_of(job).empty()) r.line().put("BatchHost", first_node(job));
  r.line()
      .put(key("nodes"), nodes_text(job))
      .put("NumCPUs", cpu_count(job))
      .put(key("ntasks"), task_count(job))
      .put(key("cpus-per-task"), q.cpus_per_task())
      .put("ReqB:S:C:T", "0:" + layout_of(job));
  r.line().put("ReqTRES", tres_requested(job));
  r.line().put("AllocTRES", tres_allocated(job));
  r.line()
      .put("Socks/Node", "*")
      .put("NtasksPerN:B:S:C", std::to_string(q.tasks_per_node()) + ":0:" +
                                   (q.tasks_per_socket() == 0 ? "*" : std::to_string(q.tasks_per_socket())) + ":*")
      .put("CoreSpec", "*");
}

/// "gpu:h100:8", or "shard:h100:250" of a shared GPU.
std::string gres(const wire::Request& q, uint32_t gpus) {
  return fmt::format("{}{}{}:{}", q.has_gpu_milli() ? "shard" : "gpu", q.gpu_type().empty() ? "" : ":", q.gpu_type(),
                     q.has_gpu_milli() ? q.gpu_milli() : gpus);
}

std::string gres_with_index(const wire::Request& q, const std::string& list) {
  auto set = base::IndexSet::parse(list);
  return !set || set->empty() ? std::string() : fmt::format("{}(IDX:{})", gres(q, set->size()), list);
}

void add_shares(Record& r, const wire::Job& job) {
  const wire::Request& q = job.spec().request();
  if (gpu_count(job) != 0 && !shares_of(job).empty()) r.line().put("JOB_GRES", gres(q, gpu_count(job)));
  for (const wire::NodeShare& s : shares_of(job))
    r.line("     ")
        .put("Nodes", s.node())
        .put("CPU_IDs", s.cores())
        .put("Mem", s.mem_mb())
        .put("GRES", gres_with_index(q, s.gpus()));
}

void add_limits(Record& r, const wire::Job& job) {
  const wire::Request& q = job.spec().request();
  r.line()
      .put("MinCPUsNode", std::max(q.min_cpus(), q.cpus_per_task() * std::max(1u, q.tasks_per_node())))
      .put(q.mem_per_cpu_mb() != 0 ? key("mem-per-cpu") : key("mem"), min_memory(job))
      .put("MinTmpDiskNode", q.tmp_mb() == 0 ? "0" : tres_memory(q.tmp_mb()));
  r.line().put(key("constraint"), or_else(features_of(job), "(null)")).put("DelayBoot", "00:00:00");
  if (!job.spec().reservation().empty()) r.line().put(key("reservation"), job.spec().reservation());
  r.line()
      .put(key("exclusive"), q.exclusive() ? "NO" : "OK")
      .put("Contiguous", q.contiguous() ? 1 : 0)
      .put("Licenses", text_or_null(job.spec().licenses()))
      .put("Network", "(null)");
}

/// What Slurm has no line for.
void add_locality(Record& r, const wire::Job& job) {
  const wire::Request& q = job.spec().request();
  const std::string locality = locality_of(job), fit = fit_of(job);
  if (locality.empty() && fit.empty() && q.segment() == 0) return;
  r.line();
  if (!locality.empty()) r.put(key("locality"), locality);
  if (q.segment() != 0) r.put(key("segment"), q.segment());
  if (!fit.empty()) r.put(key("fit"), fit);
}

void add_gpu_terms(Record& r, const wire::Job& job) {
  const wire::JobSpec& s = job.spec();
  const wire::Request& q = s.request();
  if (const std::string switches = switches_of(job); !switches.empty()) r.line().put(key("switches"), switches);
  if (q.cpus_per_gpu() != 0) r.line().put(key("cpus-per-gpu"), fmt::format("gres/gpu:{}", q.cpus_per_gpu()));
  if (q.mem_per_gpu_mb() != 0) r.line().put(key("mem-per-gpu"), fmt::format("gres/gpu:{}", q.mem_per_gpu_mb()));
  if (!s.gpu_bind().empty()) r.line().put(key("gpu-bind"), "gres/gpu:" + s.gpu_bind());
  for (const auto& [counting, tres_key] : {std::pair(1U, key("gpus")), std::pair(3U, key("gpus-per-task"))})
    if (q.gpu_counting() == counting && q.gpus() != 0) r.line().put(tres_key, gpu_request(job, counting));
  if (const std::string per_node = tres_per_node(job); !per_node.empty()) r.line().put(key("gpus-per-node"), per_node);
  if (s.gres_flags().find("enforce-binding") != std::string::npos) r.line().put("GresEnforceBind", "Yes");
  if (s.gres_flags().find("disable-binding") != std::string::npos) r.line().put("GresDisableBind", "Yes");
}

void add_launch(Record& r, const wire::Job& job) {
  const wire::JobSpec& s = job.spec();
  r.line().put("Command", text_or_null(s.launch().command()));
  r.line().put(key("chdir"), s.launch().work_dir());
  for (const wire::JobAttribute* a : shown_by_row())
    if (const std::string text = attribute_text(*a, s); !text.empty()) r.line().put(a->show_key, text);
  if (has_script(job)) {
    r.line().put(key("error"), stderr_path(job));
    r.line().put(key("input"), stdin_path(job));
    r.line().put(key("output"), stdout_path(job));
  }
  if (s.warn_signo() != 0)
    r.line().put(key("signal"),
                 fmt::format("{}{}@{}", s.warn_batch_only() ? "B:" : "", s.warn_signo(), s.warn_seconds_before()));
  r.line().put("Power", "");
}

}  // namespace

void append_job_text(std::string& out, const JobRow& row, ShowStyle style) {
  Record r(out, style.one_line);
  add_identity(r, *row.job);
  add_state(r, row, style.detail);
  add_times(r, row);
  add_place(r, *row.job);
  if (style.detail) add_shares(r, *row.job);
  add_limits(r, *row.job);
  add_locality(r, *row.job);
  add_launch(r, *row.job);
  add_gpu_terms(r, *row.job);
  r.end();
}

std::string show_job_text(const JobRow& row, ShowStyle style) {
  std::string out;
  append_job_text(out, row, style);
  return out;
}

}  // namespace gw::client
