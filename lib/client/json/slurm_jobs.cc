// Field by field, in Slurm's order of the alphabet within each part; what there is nothing of has Slurm's empty value.
#include "client/json/slurm_jobs.h"

#include <cstdlib>

#include "base/bitset.h"
#include "base/text.h"
#include "client/json/slurm_parts.h"
#include "client/show/array_view.h"
#include "model/job.h"
#include "wire/convert.h"

namespace gw::client::slurm {
namespace {

using model::JobState;

/// What a job is, and behind it, as a flag, what is still being done for it.
Json states(const wire::Job& job) {
  const JobState state = state_of(job);
  Json list = Json::array();
  if (state == JobState::kConfiguring) list.push_back(std::string(model::long_name(JobState::kRunning)));
  if (state == JobState::kCompleting) {
    const wire::Placed& placed = job.status().placed();
    const bool is_known = placed.has_outcome() && placed.outcome().end() < model::kJobStateCount;
    const auto end = is_known ? static_cast<JobState>(placed.outcome().end()) : JobState::kRunning;
    list.push_back(std::string(model::long_name(end)));
  }
  list.push_back(std::string(model::long_name(state)));
  return list;
}

void add_identity(Fields& j, const JobRow& row, const std::string& cluster) {
  const wire::Job& job = *row.job;
  const wire::JobSpec& s = job.spec();
  j["account"] = s.account();
  j["admin_comment"] = s.admin_comment();
  j["allocating_node"] = s.submit_host();
  const wire::ArrayPlace& place = s.array();
  j["array_job_id"] = number(s.has_array() ? array_of(job) : 0);
  j["array_task_id"] = place.has_task() ? number(place.task()) : unset();
  j["array_max_tasks"] = number(job.status().tasks().throttle());
  j["array_task_string"] = s.has_array() && !place.has_task() ? array_tasks(row) : "";
  j["association_id"] = 0;
  j["cluster"] = cluster;
  j["command"] = s.launch().command();
  j["comment"] = s.comment();
  j["container"] = "";
  j["container_id"] = "";
  j["current_working_directory"] = s.launch().work_dir();
  j["dependency"] = dependency_text(job) == "(null)" ? "" : dependency_text(job);
  j["extra"] = s.extra();
  j["group_id"] = s.gid();
  j["group_name"] = s.group();
  j["het_job_id"] = number(s.het_job());
  j["het_job_id_set"] =
      s.het_job() == 0 ? "" : std::to_string(s.het_job()) + "-" + std::to_string(s.het_job() + s.het_size() - 1);
  j["het_job_offset"] = number(s.het_offset());
  j["job_id"] = job.id();
  j["licenses"] = s.licenses();
  j["mail_type"] = words(s.mail_type());
  j["mail_user"] = s.mail_user().empty() ? s.user() : s.mail_user();
  j["mcs_label"] = "";
  j["name"] = s.name();
  j["network"] = "";
  j["partition"] = partition_of(job);
  j["qos"] = s.qos();
  j["resv_name"] = s.reservation();
  j["selinux_context"] = "";
  j["system_comment"] = s.system_comment();
  j["user_id"] = s.uid();
  j["user_name"] = s.user();
  j["wckey"] = s.wckey();
}

void add_state(Fields& j, const JobRow& row) {
  const wire::Job& job = *row.job;
  const JobState state = state_of(job);
  const bool is_held = state == JobState::kPending && priority_of(job) == 0;
  const bool has_script = job.spec().kind() == static_cast<uint32_t>(model::JobKind::kBatch);
  const std::string exit = exit_code(job);
  const size_t colon = exit.find(':');
  j["batch_features"] = "";
  j["batch_flag"] = has_script && job.spec().het_offset() == 0;
  j["batch_host"] = first_node(job);
  j["cron"] = "";
  j["derived_exit_code"] = process_end(job.status().derived_code(), job.status().derived_signo());
  j["exit_code"] = process_end(std::atoi(exit.c_str()), std::atoi(exit.c_str() + colon + 1));
  j["failed_node"] = "";
  j["federation_origin"] = "";
  j["federation_siblings_active"] = "";
  j["federation_siblings_viable"] = "";
  j["flags"] = Json::array();
  j["hold"] = is_held;
  j["job_state"] = states(job);
  j["nice"] = job.spec().nice();
  j["preempt_time"] = moment({});
  j["preemptable_time"] = moment({});
  j["priority"] = number(priority_of(job));
  j["profile"] = Json::array({"NOT_SET"});
  j["reboot"] = false;
  j["requeue"] = job.spec().requeue();
  j["restart_cnt"] = job.status().restarts();
  j["show_flags"] = Json::array({"ALL", "DETAIL"});
  j["state_description"] = reason_detail(job);
  j["state_reason"] = reason_word(job);
}

void add_times(Fields& j, const JobRow& row) {
  const wire::Job& job = *row.job;
  const base::Time start = start_of(job);
  j["accrue_time"] = moment({job.status().eligible_us()});
  j["deadline"] = moment({job.spec().deadline_us()});
  j["delay_boot"] = number(0);
  j["eligible_time"] = moment({job.status().eligible_us()});
  j["end_time"] = moment(end_of(job));
  j["last_sched_evaluation"] = moment({});
  j["pre_sus_time"] = number(suspended_at(job) ? (suspended_at(job) - start - stood_still(job)).seconds() : 0);
  j["resize_time"] = moment({});
  j["start_time"] = moment(start ? start : expected_start(job));
  j["submit_time"] = moment({job.status().submitted_us()});
  j["suspend_time"] = moment(suspended_at(job));
  j["time_limit"] = minutes(time_limit(job));
  j["time_minimum"] = minutes(base::Duration{job.spec().time_min_us()});
}

void add_request(Fields& j, const wire::Job& job) {
  const wire::Request& r = job.spec().request();
  j["contiguous"] = r.contiguous();
  j["core_spec"] = nullptr;
  j["thread_spec"] = nullptr;
  j["cores_per_socket"] = number_or_unset(r.socket_cores());
  j["cpus_per_task"] = number(r.cpus_per_task());
  j["cpus_per_tres"] = r.cpus_per_gpu() == 0 ? "" : "gres/gpu:" + std::to_string(r.cpus_per_gpu());
  for (const char* which : {"minimum", "maximum", "governor"}) j["cpu_frequency_" + std::string(which)] = unset();
  j["burst_buffer"] = "";
  j["burst_buffer_state"] = "";
  j["cluster_features"] = "";
  j["excluded_nodes"] = joined(r.exclude());
  j["features"] = features_of(job);
  j["max_cpus"] = number(0);
  j["max_nodes"] = number(r.nodes_given() && r.max_nodes() > r.min_nodes() ? r.max_nodes() : 0);
  j["maximum_switch_wait_time"] = r.max_switches() == 0 ? 0 : base::Duration{r.switches_wait_us()}.seconds();
  j["memory_per_cpu"] = number_or_unset(static_cast<int64_t>(r.mem_per_cpu_mb()));
  j["memory_per_node"] = number_or_unset(static_cast<int64_t>(r.mem_per_node_mb()));
  j["memory_per_tres"] = r.mem_per_gpu_mb() == 0 ? "" : "gres/gpu:" + std::to_string(r.mem_per_gpu_mb());
  j["minimum_cpus_per_node"] = number(std::max(r.min_cpus(), r.cpus_per_task() * std::max(1U, r.tasks_per_node())));
  j["minimum_switches"] = r.max_switches();
  j["minimum_tmp_disk_per_node"] = number(static_cast<int64_t>(r.tmp_mb()));
  j["oversubscribe"] = !r.exclusive();
  j["shared"] = r.exclusive() ? Json::array({"none"}) : Json::array();
  j["exclusive"] = r.exclusive() ? Json::array({"true"}) : Json::array();
  j["power"] = {{"flags", Json::array()}};
  j["prefer"] = "";
  j["required_nodes"] = joined(r.nodelist());
  j["scheduled_nodes"] = "";
  j["sockets_per_board"] = 0;
  j["sockets_per_node"] = number_or_unset(r.sockets());
  j["tasks_per_board"] = unset();
  j["tasks_per_core"] = r.whole_cores() ? number(1) : unset();
  j["tasks_per_node"] = number(r.tasks_per_node());
  j["tasks_per_socket"] = number_or_unset(r.tasks_per_socket());
  j["tasks_per_tres"] = unset();
  j["threads_per_core"] = number_or_unset(r.core_threads());
  j["tres_bind"] = job.spec().gpu_bind().empty() ? "" : "gres/gpu:" + job.spec().gpu_bind();
  j["tres_freq"] = "";
  j["tres_per_job"] = gpu_request(job, static_cast<uint32_t>(model::GpuCounting::kPerJob));
  j["tres_per_node"] = tres_per_node(job);
  j["tres_per_socket"] = "";
  j["tres_per_task"] = gpu_request(job, static_cast<uint32_t>(model::GpuCounting::kPerTask));
}

/// Which sockets its cores are in, the record of a job does not tell.
Json node_resources(const wire::NodeShare& share) {
  return {{"nodename", share.node()},
          {"cpus_used", share.cpus()},
          {"memory_used", 0},
          {"memory_allocated", share.mem_mb()},
          {"sockets", Json::object()}};
}

/// Empty where the job has nothing, or has nothing any more.
Json resources(const wire::Job& job) {
  if (!job.status().has_placed()) return Json::object();
  Json nodes = Json::array();
  uint64_t cpus = 0, cores = 0;
  for (const wire::NodeShare& share : shares_of(job)) {
    nodes.push_back(node_resources(share));
    cpus += share.cpus();
    if (const auto set = base::IndexSet::parse(share.cores()); set) cores += set->size();
  }
  return {{"nodes", node_list(job)},
          {"allocated_cores", cores},
          {"allocated_cpus", cpus},
          {"allocated_hosts", nodes.size()},
          {"allocated_nodes", std::move(nodes)}};
}

Json gres_of_nodes(const wire::Job& job) {
  Json list = Json::array();
  for (const wire::NodeShare& share : shares_of(job)) {
    const auto gpus = base::IndexSet::parse(share.gpus());
    if (job.status().has_placed() && gpus && !gpus->empty())
      list.push_back("gpu:" + std::to_string(gpus->size()) + "(IDX:" + share.gpus() + ")");
  }
  return list;
}

void add_resources(Fields& j, const wire::Job& job) {
  j["billable_tres"] = number(cpu_count(job));
  j["cpus"] = number(cpu_count(job));
  j["gres_detail"] = gres_of_nodes(job);
  j["job_resources"] = resources(job);
  j["job_size_str"] = Json::array();
  j["node_count"] = number(node_count(job));
  j["nodes"] = node_list(job);
  j["standard_error"] = stderr_path(job);
  j["standard_input"] = stdin_path(job);
  j["standard_output"] = stdout_path(job);
  j["tasks"] = number(task_count(job));
  j["tres_alloc_str"] = shares_of(job).empty() ? "" : tres_allocated(job);
  j["tres_req_str"] = tres_requested(job);
}

}  // namespace

bool jobs(const std::vector<JobRow>& rows, base::Time now, const Asked& asked,
          const std::function<bool(std::string_view)>& out) {
  size_t at = 0;
  const auto next = [&]() -> Json {
    if (at == rows.size()) return nullptr;
    const JobRow& row = rows[at++];
    Fields j;
    add_identity(j, row, asked.cluster);
    add_state(j, row);
    add_times(j, row);
    add_request(j, *row.job);
    add_resources(j, *row.job);
    return std::move(j).done();
  };
  Json body;
  body["last_backfill"] = moment(now);
  body["last_update"] = moment(now);
  return answer("jobs", next, std::move(body), asked, out);
}

}  // namespace gw::client::slurm
