// The table of job fields. Headers and forms as squeue prints them.
#include "client/show/job_fields.h"

#include <fmt/format.h>

#include "base/bitset.h"
#include "base/text.h"
#include "client/show/array_view.h"
#include "client/show/attribute_text.h"
#include "client/show/rare_job_fields.h"

namespace gw::client {
namespace {

using Row = JobRow;

std::string num(uint64_t n) { return std::to_string(n); }
const wire::JobSpec& spec(const Row& r) { return r.job->spec(); }
const wire::Request& request(const Row& r) { return r.job->spec().request(); }

base::Duration time_left(const Row& r) {
  const base::Duration limit = time_limit(*r.job);
  if (limit == base::kUnlimited) return limit;
  const base::Duration left = limit - run_time(r);
  return left > base::Duration{} ? left : base::Duration{};
}

std::string start_text(const Row& r) {
  const base::Time start = start_of(*r.job);
  return show_time(start ? start : expected_start(*r.job), "N/A");
}

std::string gpu_list(const Row& r) {
  std::vector<std::string> parts;
  for (const wire::NodeShare& s : shares_of(*r.job))
    if (!s.gpus().empty()) parts.push_back(s.node() + ":" + s.gpus());
  return or_else(base::join(parts, " "), "N/A");
}

std::string command_of(const Row& r) { return or_else(spec(r).launch().command(), "(null)"); }
std::string id_text(const Row& r) { return num(r.job->id()); }
std::string shown_text(const Row& r) { return shown_id(r); }
double id_key(const Row& r) { return r.job->id(); }
std::string priority_text(const Row& r) { return std::to_string(priority_of(*r.job)); }
/// Of the largest that Slurm knows.
std::string priority_part(const Row& r) {
  return fmt::format("{:.14f}", static_cast<double>(priority_of(*r.job)) / UINT32_MAX);
}
/// What was set comes before what the order works out.
double priority_key(const Row& r) {
  return static_cast<double>(spec(r).priority()) * 1e9 + static_cast<double>(priority_of(*r.job));
}
std::string or_star(uint32_t count) { return count == 0 ? "*" : num(count); }
std::string oversubscribe(const Row& r) { return request(r).exclusive() ? "NO" : "OK"; }
std::string nodes_text(const Row& r) { return node_list(*r.job); }
double state_key(const Row& r) { return static_cast<double>(r.job->status().state()); }

/// The column of the attribute that has this option.
consteval FieldName column(std::string_view option) {
  const wire::JobColumn& c = wire::attribute(option).column;
  return {c.letter, c.name, c.header};
}

/// Attributes that are shown as they are kept; those that this version does not keep are nobody's.
void add_by_row(std::vector<Field<Row>>& t) {
  for (const wire::JobAttribute& a : wire::kJobAttributes)
    if (a.shown == wire::Shown::kByRow && !a.column.name.empty())
      t.push_back({{a.column.letter, a.column.name, a.column.header},
                   [&a](const Row& r) { return or_else(attribute_text(a, spec(r)), "(null)"); }});
}

void add_identity(std::vector<Field<Row>>& t) {
  t.push_back({{'i', "JobID", "JOBID"}, shown_text, order_of_id});
  t.push_back({{'A', "JobIDRaw", "JOBID"}, id_text, id_key});
  t.push_back({{'F', "ArrayJobID", "ARRAY_JOB_ID"},
               [](const Row& r) { return num(array_of(*r.job)); },
               [](const Row& r) { return double(array_of(*r.job)); }});
  t.push_back({{0, "JobArrayID", "JOBID"}, shown_text, order_of_id});
  t.push_back({{'K', "ArrayTaskID", "ARRAY_TASK_ID"},
               [](const Row& r) { return or_else(array_tasks(r), "N/A"); },
               order_of_id});
  t.push_back({column("job-name"), [](const Row& r) { return spec(r).name(); }});
  t.push_back({{'u', "UserName", "USER"}, [](const Row& r) { return spec(r).user(); }});
  t.push_back({{'U', "UserID", "UID"},
               [](const Row& r) { return num(spec(r).uid()); },
               [](const Row& r) { return double(spec(r).uid()); }});
  t.push_back({{'g', "GroupName", "GROUP"}, [](const Row& r) { return spec(r).group(); }});
  t.push_back({{'G', "GroupID", "GROUP"}, [](const Row& r) { return num(spec(r).gid()); }});
  t.push_back({column("account"), [](const Row& r) { return or_else(spec(r).account(), "(null)"); }});
  t.push_back({column("partition"), [](const Row& r) { return partition_of(*r.job); }});
  t.push_back({column("qos"), [](const Row& r) { return spec(r).qos(); }});
  t.push_back({{0, "Quota", "QUOTA"}, [](const Row& r) { return or_else(quota_text(r.label), "N/A"); }});
  t.push_back(
      {{0, "PreemptibleBy", "PREEMPTIBLE_BY"}, [](const Row& r) { return or_else(preemptors_text(r.label), "N/A"); }});
  t.push_back({{0, "TakenBy", "TAKEN_BY"}, [](const Row& r) { return or_else(preemptors_text(r.label), "N/A"); }});
  add_by_row(t);
  t.push_back({{'o', "Command", "COMMAND"}, command_of});
  t.push_back({column("chdir"), [](const Row& r) { return spec(r).launch().work_dir(); }});
  t.push_back({column("output"), [](const Row& r) { return stdout_path(*r.job); }});
  t.push_back({column("error"), [](const Row& r) { return stderr_path(*r.job); }});
  t.push_back({column("input"), [](const Row& r) { return stdin_path(*r.job); }});
}

Tone state_tone(const Row& r) {
  using model::JobState;
  const JobState state = state_of(*r.job);
  if (state == JobState::kRunning) return Tone::kGood;
  if (state == JobState::kPending) return Tone::kWaits;
  if (state == JobState::kCompleted) return Tone::kFaint;
  return model::is_end(state) ? Tone::kBad : Tone::kBusy;
}

void add_state(std::vector<Field<Row>>& t) {
  t.push_back({{'t', "StateCompact", "ST"},
               [](const Row& r) { return std::string(model::short_name(state_of(*r.job))); },
               state_key,
               state_tone});
  t.push_back({{'T', "State", "STATE"},
               [](const Row& r) { return std::string(model::long_name(state_of(*r.job))); },
               state_key,
               state_tone});
  t.push_back({{'r', "Reason", "REASON"}, [](const Row& r) { return reason_word(r); }});
  t.push_back({{'R', "ReasonList", "NODELIST(REASON)"}, [](const Row& r) { return reason_or_nodes(r); }});
  t.push_back(
      {{0, "ReasonDetail", "REASON_DETAIL"}, [](const Row& r) { return or_else(reason_detail(*r.job), "N/A"); }});
  t.push_back({{0, "exit_code", "EXIT_CODE"}, [](const Row& r) { return exit_code(*r.job); }});
  t.push_back({{0, "RestartCnt", "RESTART_COUNT"}, [](const Row& r) { return num(r.job->status().restarts()); }});
  t.push_back({column("requeue"), [](const Row& r) { return std::string(spec(r).requeue() ? "1" : "0"); }});
  t.push_back({column("dependency"), [](const Row& r) { return dependency_text(*r.job); }});
  t.push_back({column("priority"), priority_text, priority_key});
  t.push_back({{'p', "Priority", "PRIORITY"}, priority_part, priority_key});
  t.push_back({column("nice"), [](const Row& r) { return std::to_string(spec(r).nice()); }});
  t.push_back({column("reservation"), [](const Row& r) { return or_else(spec(r).reservation(), "(null)"); }});
  t.push_back({column("exclusive"), oversubscribe});
}

void add_times(std::vector<Field<Row>>& t) {
  t.push_back({{'M', "TimeUsed", "TIME"},
               [](const Row& r) { return base::format_duration(run_time(r), true); },
               [](const Row& r) { return double(run_time(r).us); }});
  t.push_back({column("time"), [](const Row& r) { return base::format_duration(time_limit(*r.job), true); },
               [](const Row& r) { return double(time_limit(*r.job).us); }});
  t.push_back({{'L', "TimeLeft", "TIME_LEFT"},
               [](const Row& r) { return base::format_duration(time_left(r), true); },
               [](const Row& r) { return double(time_left(r).us); }});
  t.push_back({{'S', "StartTime", "START_TIME"}, start_text});
  t.push_back({{0, "StartRange", "START_RANGE"}, [](const Row& r) { return start_range(*r.job); }});
  t.push_back({{0, "LikelyStart", "LIKELY_START"}, [](const Row& r) { return likely_start(*r.job); }});
  t.push_back({{'e', "EndTime", "END_TIME"}, [](const Row& r) { return show_time(end_of(*r.job), "N/A"); }});
  t.push_back({{'V', "SubmitTime", "SUBMIT_TIME"},
               [](const Row& r) { return show_time({r.job->status().submitted_us()}, "N/A"); }});
  t.push_back({column("deadline"), [](const Row& r) { return show_time({spec(r).deadline_us()}, "N/A"); }});
  t.push_back({{0, "EligibleTime", "ELIGIBLE_TIME"},
               [](const Row& r) { return show_time({r.job->status().eligible_us()}, "N/A"); }});
}

void add_resources(std::vector<Field<Row>>& t) {
  t.push_back({{'N', "NodeList", "NODELIST"}, nodes_text});
  t.push_back({{'B', "BatchHost", "EXEC_HOST"}, [](const Row& r) { return or_else(first_node(*r.job), "n/a"); }});
  t.push_back({column("nodes"), [](const Row& r) { return num(node_count(*r.job)); },
               [](const Row& r) { return double(node_count(*r.job)); }});
  t.push_back({{'C', "NumCPUs", "CPUS"},
               [](const Row& r) { return num(cpu_count(*r.job)); },
               [](const Row& r) { return double(cpu_count(*r.job)); }});
  t.push_back({column("ntasks"), [](const Row& r) { return num(task_count(*r.job)); }});
  t.push_back({{'c', "MinCpus", "MIN_CPUS"}, [](const Row& r) { return num(request(r).cpus_per_task()); }});
  t.push_back({column("cpus-per-task"), [](const Row& r) { return num(request(r).cpus_per_task()); }});
  t.push_back({column("ntasks-per-node"), [](const Row& r) { return num(request(r).tasks_per_node()); }});
  t.push_back({column("mem"), [](const Row& r) { return min_memory(*r.job); }});
  t.push_back({{'d', "MinTmpDisk", "MIN_TMP_DISK"}, [](const Row& r) {
                 const uint64_t mb = r.job->spec().request().tmp_mb();
                 return mb == 0 ? std::string("0") : tres_memory(mb);
               }});
  t.push_back({column("gpus-per-node"), [](const Row& r) { return or_else(tres_per_node(*r.job), "N/A"); }});
  t.push_back({column("gpus"), [](const Row& r) { return or_else(gpu_request(*r.job, 1), "N/A"); }});
  t.push_back({column("gpus-per-task"), [](const Row& r) { return or_else(gpu_request(*r.job, 3), "N/A"); }});
  t.push_back({column("switches"), [](const Row& r) { return num(request(r).max_switches()); }});
  t.push_back({column("locality"), [](const Row& r) { return or_else(locality_of(*r.job), "N/A"); }});
  t.push_back({{0, "tres-alloc", "TRES_ALLOC"}, [](const Row& r) { return tres_allocated(*r.job); }});
  t.push_back({{0, "GPUs", "GPUS"},
               [](const Row& r) { return num(gpu_count(*r.job)); },
               [](const Row& r) { return double(gpu_count(*r.job)); }});
  t.push_back({{0, "GPUList", "GPU_LIST"}, gpu_list});
  t.push_back({column("constraint"), [](const Row& r) { return or_else(features_of(*r.job), "(null)"); }});
  t.push_back({column("nodelist"), [](const Row& r) { return host_list(request(r).nodelist()); }});
  t.push_back({column("exclude"), [](const Row& r) { return host_list(request(r).exclude()); }});
  t.push_back({{'Y', "SchedNodes", "SCHEDNODES"}, [](const Row&) { return std::string("(null)"); }});
  t.push_back({{'z', "SCT", "S:C:T"}, [](const Row& r) {
                 const std::string layout = layout_of(*r.job);
                 return layout.starts_with("0:") ? "*" + layout.substr(1) : layout;
               }});
  t.push_back({{'H', "Sockets", "SOCKETS_PER_NODE"}, [](const Row& r) { return or_star(request(r).sockets()); }});
  t.push_back({{'I', "Cores", "CORES_PER_SOCKET"}, [](const Row& r) { return or_star(request(r).socket_cores()); }});
  t.push_back({{'J', "Threads", "THREADS_PER_CORE"}, [](const Row& r) { return or_star(request(r).core_threads()); }});
  t.push_back({{'X', "CoreSpec", "CORE_SPEC"}, [](const Row&) { return std::string("N/A"); }});
  t.push_back({{'O', "Contiguous", "CONTIGUOUS"},
               [](const Row& r) { return std::string(request(r).contiguous() ? "1" : "0"); }});
  t.push_back({{'W', "Licenses", "LICENSES"}, [](const Row& r) {
                 const std::string& licenses = r.job->spec().licenses();
                 return licenses.empty() ? std::string("(null)") : licenses;
               }});
}

}  // namespace

const std::vector<Field<JobRow>>& job_fields() {
  static const std::vector<Field<JobRow>> table = [] {
    std::vector<Field<JobRow>> t;
    t.reserve(140);
    add_identity(t);
    add_state(t);
    add_times(t);
    add_resources(t);
    add_rare_job_fields(t);
    return t;
  }();
  return table;
}

}  // namespace gw::client
