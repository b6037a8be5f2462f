// Names of squeue -O of which Gangway has little or nothing to say: what programs that print every field expect there.
#include "client/show/rare_job_fields.h"

#include <fmt/format.h>

#include "base/time.h"
#include "client/show/job_view.h"
#include "model/job.h"

namespace gw::client {
namespace {

using Row = JobRow;

const wire::JobSpec& spec(const Row& r) { return r.job->spec(); }
const wire::Request& request(const Row& r) { return r.job->spec().request(); }

std::string or_not_said(uint32_t count) { return count == 0 ? "N/A" : std::to_string(count); }

std::string of_gpus(uint64_t amount, std::string_view unit) {
  return amount == 0 ? "N/A" : fmt::format("gres/gpu:{}{}", amount, unit);
}

/// Seconds for which it waited, or waits.
int64_t pending_seconds(const Row& r) {
  const base::Time submitted{r.job->status().submitted_us()};
  const base::Time start = start_of(*r.job), end = end_of(*r.job);
  const bool is_over = !start && model::is_end(state_of(*r.job));
  const base::Time until = start ? start : is_over ? end : r.now;
  return until > submitted ? (until - submitted).seconds() : 0;
}

std::string component_ids(const Row& r) {
  const wire::JobSpec& s = spec(r);
  return s.het_job() == 0 ? "N/A" : fmt::format("{}-{}", s.het_job(), s.het_job() + s.het_size() - 1);
}

void add_of_request(std::vector<Field<Row>>& t) {
  t.push_back(
      {{0, "NTPerNode", "NTASKS_PER_NODE"}, [](const Row& r) { return or_not_said(request(r).tasks_per_node()); }});
  t.push_back({{0, "NTPerSocket", "NTASKS_PER_SOCKET"},
               [](const Row& r) { return or_not_said(request(r).tasks_per_socket()); }});
  t.push_back({{0, "NTPerCore", "NTASKS_PER_CORE"},
               [](const Row& r) { return std::string(request(r).whole_cores() ? "1" : "N/A"); }});
  t.push_back({{0, "MaxNodes", "MAX_NODES"}, [](const Row& r) {
                 const wire::Request& q = request(r);
                 return std::to_string(q.nodes_given() && q.max_nodes() > q.min_nodes() ? q.max_nodes() : 0);
               }});
  t.push_back(
      {{0, "cpus-per-tres", "CPUS_PER_TRES"}, [](const Row& r) { return of_gpus(request(r).cpus_per_gpu(), ""); }});
  t.push_back(
      {{0, "mem-per-tres", "MEM_PER_TRES"}, [](const Row& r) { return of_gpus(request(r).mem_per_gpu_mb(), ""); }});
  t.push_back({{0, "tres-bind", "TRES_BIND"}, [](const Row& r) {
                 return spec(r).gpu_bind().empty() ? std::string("N/A") : "gres/gpu:" + spec(r).gpu_bind();
               }});
  t.push_back({{0, "gres", "TRES_PER_NODE"}, [](const Row& r) { return or_else(tres_per_node(*r.job), "N/A"); }});
  t.push_back({{0, "Wait4Switch", "WAIT4SWITCH"}, [](const Row& r) {
                 const base::Duration wait{request(r).switches_wait_us()};
                 return base::format_duration(request(r).max_switches() == 0 ? base::Duration{} : wait);
               }});
}

void add_of_life(std::vector<Field<Row>>& t) {
  t.push_back({{0, "AccrueTime", "ACCRUE_TIME"},
               [](const Row& r) { return show_time({r.job->status().eligible_us()}, "N/A"); }});
  t.push_back({{0, "PendingTime", "PENDING_TIME"},
               [](const Row& r) { return std::to_string(pending_seconds(r)); },
               [](const Row& r) { return double(pending_seconds(r)); }});
  t.push_back({{0, "MinTime", "MIN_TIME"}, [](const Row& r) {
                 const base::Duration least{spec(r).time_min_us()};
                 return least.us > 0 ? base::format_duration(least, true) : "N/A";
               }});
  t.push_back({{0, "DerivedEC", "DERIVED_EC"}, [](const Row& r) {
                 return model::ExitStatus{r.job->status().derived_code(), r.job->status().derived_signo()}.text();
               }});
  t.push_back({{0, "BatchFlag", "BATCH_FLAG"}, [](const Row& r) {
                 const bool has_script = spec(r).kind() == static_cast<uint32_t>(model::JobKind::kBatch);
                 return std::string(has_script && spec(r).het_offset() == 0 ? "1" : "0");
               }});
  t.push_back({{0, "AllocNodes", "ALLOC_NODES"}, [](const Row& r) { return or_else(spec(r).submit_host(), "N/A"); }});
  t.push_back({{0, "Nodes", "NODES"}, [](const Row& r) { return node_list(*r.job); }});
  t.push_back({{0, "HetJobID", "HET_JOB_ID"},
               [](const Row& r) { return spec(r).het_job() == 0 ? "N/A" : std::to_string(spec(r).het_job()); }});
  t.push_back({{0, "HetJobIDSet", "HET_JOB_ID_SET"}, component_ids});
  t.push_back({{0, "HetJobOffset", "HET_JOB_OFFSET"},
               [](const Row& r) { return spec(r).het_job() == 0 ? "N/A" : std::to_string(spec(r).het_offset()); }});
}

struct Constant {
  std::string_view name, header, text;
};

/// What there is nothing of: what squeue prints where it is not set.
constexpr Constant kConstants[] = {{"AllocSID", "ALLOC_SID", "0"},
                                   {"AssocID", "ASSOC_ID", "0"},
                                   {"BoardsPerNode", "BOARDS_PER_NODE", "N/A"},
                                   {"BurstBuffer", "BURST_BUFFER", "(null)"},
                                   {"BurstBufferState", "BURST_BUFFER_STATE", "(null)"},
                                   {"Cluster", "CLUSTER", "N/A"},
                                   {"ClusterFeature", "CLUSTER_FEATURES", "(null)"},
                                   {"Container", "CONTAINER", "(null)"},
                                   {"ContainerID", "CONTAINER_ID", "(null)"},
                                   {"CPUFreq", "CPU_FREQ", "N/A"},
                                   {"DelayBoot", "DELAY_BOOT", "00:00:00"},
                                   {"LastSchedEval", "LAST_SCHED_EVAL", "N/A"},
                                   {"MaxCPUs", "MAX_CPUS", "0"},
                                   {"MCSLabel", "MCSLABEL", "N/A"},
                                   {"Network", "NETWORK", "(null)"},
                                   {"NTPerBoard", "NTASKS_PER_BOARD", "N/A"},
                                   {"Origin", "ORIGIN", "N/A"},
                                   {"OriginRaw", "ORIGIN_RAW", "N/A"},
                                   {"PreemptTime", "PREEMPT_TIME", "N/A"},
                                   {"Prefer", "PREFER", "N/A"},
                                   {"Profile", "PROFILE", "NotSet"},
                                   {"Reboot", "REBOOT", "0"},
                                   {"ResizeTime", "RESIZE_TIME", "N/A"},
                                   {"ResvPort", "RESV_PORTS", "N/A"},
                                   {"SiblingsActive", "SIBLINGS_ACTIVE", "N/A"},
                                   {"SiblingsActiveRaw", "SIBLINGS_ACTIVE_RAW", "N/A"},
                                   {"SiblingsViable", "SIBLINGS_VIABLE", "N/A"},
                                   {"SiblingsViableRaw", "SIBLINGS_VIABLE_RAW", "N/A"},
                                   {"SPerBoard", "SOCKETS_PER_BOARD", "N/A"},
                                   {"tres-freq", "TRES_FREQ", "N/A"},
                                   {"tres-per-socket", "TRES_PER_SOCKET", "N/A"}};

}  // namespace

void add_rare_job_fields(std::vector<Field<JobRow>>& table) {
  add_of_request(table);
  add_of_life(table);
  for (const Constant& c : kConstants)
    table.push_back({{0, c.name, c.header}, [&c](const Row&) { return std::string(c.text); }});
}

}  // namespace gw::client
