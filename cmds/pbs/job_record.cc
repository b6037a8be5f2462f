// See job_record.h. Attributes and their order are those of pbs_job_attributes(7B).
#include "cmds/pbs/job_record.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/bitset.h"
#include "base/text.h"
#include "client/show/array_view.h"
#include "cmds/queue/text.h"
#include "model/job.h"

namespace gw::cmds::pbs {
namespace {

using client::JobRow;
using queue::Doing;
using queue::System;

std::string kilobytes(uint64_t mb) { return std::to_string(mb * 1024) + "kb"; }

std::string clock_of_seconds(int64_t s) { return fmt::format("{:02}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60); }

/// "(n0:ncpus=4:mem=1024kb:ngpus=1)+(...)"
std::string exec_vnode(const wire::Job& job) {
  std::vector<std::string> parts;
  for (const wire::NodeShare& share : client::shares_of(job)) {
    const auto gpus = base::IndexSet::parse(share.gpus());
    std::string part = fmt::format("({}:ncpus={}", share.node(), share.cpus());
    if (share.mem_mb() > 0) part += ":mem=" + kilobytes(share.mem_mb());
    if (gpus && !gpus->empty()) part += fmt::format(":ngpus={}", gpus->size());
    parts.push_back(part + ")");
  }
  return base::join(parts, "+");
}

void put_use(Record& r, const queue::Row& row) {
  const wire::Job& job = *row.row.job;
  if (!client::start_of(job) || row.is_array) return;
  const wire::RunUse& use = job.status().ended().outcome().use();
  if (row.doing == Doing::kHasEnded)
    r.put("resources_used.cput", clock_of_seconds(static_cast<int64_t>((use.user_us() + use.system_us()) / 1'000'000)));
  if (const uint64_t peak = job.status().ended().outcome().peak_mem_mb(); peak > 0)
    r.put("resources_used.mem", kilobytes(peak));
  r.put("resources_used.ncpus", std::to_string(client::cpu_count(job)));
  r.put("resources_used.walltime", clock_text(client::run_time(row.row)));
}

void put_array(Record& r, const queue::Row& row, const std::string& cluster) {
  const wire::ArrayPlace& place = row.row.job->spec().array();
  if (row.is_array) {
    r.put("array", "True");
    r.put("array_indices_submitted", fmt::format("{}-{}{}", place.least(), place.most(),
                                                 place.step() > 1 ? ":" + std::to_string(place.step()) : ""));
    r.put("array_indices_remaining", row.left.empty() ? "-" : row.left);
  } else if (!row.task.empty()) {
    r.put("array_id", queue::shown_task(client::array_of(*row.row.job), "", cluster));
    r.put("array_index", row.task);
  }
}

/// "2:ncpus=8:mem=4096kb:ngpus=4:mpiprocs=2": what each node gives.
std::string select_text(const wire::Job& job) {
  const wire::Request& q = job.spec().request();
  const uint32_t nodes = std::max(1U, client::node_count(job));
  const uint32_t tasks = std::max(1U, client::task_count(job));
  const uint32_t per_node = (tasks + nodes - 1) / nodes;
  std::string text = fmt::format("{}:ncpus={}", nodes, std::max(1U, client::cpu_count(job) / nodes));
  if (per_node > 1) text += fmt::format(":mpiprocs={}", per_node);
  if (q.mem_per_node_mb() > 0) text += ":mem=" + kilobytes(q.mem_per_node_mb());
  if (client::gpu_count(job) > 0) text += fmt::format(":ngpus={}", client::gpu_count(job) / nodes);
  return text;
}

void put_resources(Record& r, const wire::Job& job, System system) {
  const wire::Request& q = job.spec().request();
  const uint32_t nodes = std::max(1U, client::node_count(job));
  const uint32_t per_node = (std::max(1U, client::task_count(job)) + nodes - 1) / nodes;
  if (const uint64_t mb = client::memory_mb(job); mb > 0) r.put("Resource_List.mem", kilobytes(mb));
  r.put("Resource_List.ncpus", std::to_string(client::cpu_count(job)));
  r.put_if(client::gpu_count(job) > 0, "Resource_List.ngpus", std::to_string(client::gpu_count(job)));
  r.put("Resource_List.nodect", std::to_string(nodes));
  if (system == System::kTorque) {
    r.put("Resource_List.nodes", fmt::format("{}:ppn={}", nodes, per_node));
  } else {
    r.put("Resource_List.place", q.exclusive() ? "excl" : "free");
    r.put("Resource_List.select", select_text(job));
  }
  const base::Duration limit = client::time_limit(job);
  r.put_if(limit.us > 0 && limit != base::kUnlimited, "Resource_List.walltime", clock_text(limit));
}

void put_time(Record& r, const char* key, base::Time time) { r.put_if(time.us > 0, key, calendar_text(time)); }

/// Of an array the task's place stays open, as PBS writes it.
std::string open_path(const std::string& pattern) {
  std::string path;
  for (size_t i = 0; i < pattern.size(); ++i) {
    const bool is_task = pattern[i] == '%' && i + 1 < pattern.size() && pattern[i + 1] == 'a';
    path += is_task ? "^array_index^" : std::string(1, pattern[i]);
    if (is_task) ++i;
  }
  return path;
}

/// Standard output, and standard error where they differ.
std::pair<std::string, std::string> paths_of(const queue::Row& row) {
  if (!row.is_array) return {client::stdout_path(*row.row.job), client::stderr_path(*row.row.job)};
  wire::Job job = *row.row.job;
  wire::Launch& launch = *job.mutable_spec()->mutable_launch();
  launch.set_std_out(open_path(launch.std_out()));
  launch.set_std_err(open_path(launch.std_err()));
  return {client::stdout_path(job), client::stderr_path(job)};
}

/// Why it waits, or how it ended, in words.
std::string comment_of(const queue::Row& row) {
  const wire::Job& job = *row.row.job;
  const std::string detail = client::reason_detail(job);
  const std::string word = client::reason_word(job);
  if (row.doing == Doing::kRuns) return "Job run at " + calendar_text(client::start_of(job));
  if (!detail.empty()) return "Not Running: " + detail;
  return word == "None" || row.doing == Doing::kHasEnded ? std::string() : "Not Running: " + word;
}

void put_end(Record& r, const queue::Row& row) {
  const wire::Job& job = *row.row.job;
  if (row.doing != Doing::kHasEnded) return;
  r.put("Exit_status",
        std::to_string(row.is_array ? row.worst_exit : queue::exit_status(job.status().ended().outcome())));
}

void put_submission(Record& r, const wire::Job& job, const std::string& variables) {
  const wire::JobSpec& s = job.spec();
  r.put_if(!s.dependency().empty(), "depend", s.dependency());
  r.put_if(!s.account().empty(), "Account_Name", s.account());
  r.put("Variable_List",
        variables.empty() ? "PBS_O_HOST=" + s.submit_host() + ",PBS_O_LOGNAME=" + s.user() : variables);
  r.put("Submit_arguments", s.submit_line());
  r.put("project", s.wckey().empty() ? "_pbs_project_default" : s.wckey());
}

}  // namespace

char state_letter(const queue::Row& row, System system) {
  const bool is_pro = system == System::kPbsPro;
  if (row.doing == Doing::kHasEnded) return is_pro ? (row.task.empty() ? 'F' : 'X') : 'C';
  if (is_pro && row.is_array && row.has_begun) return 'B';
  switch (row.doing) {
    case Doing::kWaitsForTime:
      return 'W';
    case Doing::kIsHeld:
      return 'H';
    case Doing::kRuns:
    case Doing::kStarts:
      return 'R';
    case Doing::kIsSuspended:
      return 'S';
    case Doing::kLeaves:
      return 'E';
    default:
      return 'Q';
  }
}

std::string exec_host(const wire::Job& job, System system) {
  std::vector<std::string> parts;
  for (const wire::NodeShare& share : client::shares_of(job)) {
    if (system == System::kPbsPro) {
      parts.push_back(fmt::format("{}/0{}", share.node(), share.cpus() > 1 ? fmt::format("*{}", share.cpus()) : ""));
      continue;
    }
    for (uint32_t k = 0; k < std::max(1U, share.tasks()); ++k) parts.push_back(fmt::format("{}/{}", share.node(), k));
  }
  return base::join(parts, "+");
}

std::string clock_text(base::Duration length) { return clock_of_seconds(std::max<int64_t>(0, length.seconds())); }

std::string calendar_text(base::Time time) { return queue::local_time(time, queue::kCalendarForm, "0"); }

Record job_record(const queue::Jobs& jobs, const queue::Row& row, System system, const std::string& variables) {
  const wire::Job& job = *row.row.job;
  const wire::JobSpec& s = job.spec();
  const bool is_pro = system == System::kPbsPro;
  Record r{jobs.id_of(row), {}};
  r.put("Job_Name", s.name());
  r.put("Job_Owner", s.user() + "@" + s.submit_host());
  put_use(r, row);
  r.put("job_state", std::string(1, state_letter(row, system)));
  r.put("queue", client::partition_of(job));
  r.put("server", jobs.cluster());
  r.put("Checkpoint", "u");
  put_time(r, "ctime", {job.status().submitted_us()});
  r.put_if(!s.account().empty() && !is_pro, "euser", s.user());
  const auto [output, error] = paths_of(row);
  r.put("Error_Path", s.submit_host() + ":" + error);
  if (const std::string hosts = exec_host(job, system); !hosts.empty() && !row.is_array) {
    r.put("exec_host", hosts);
    if (is_pro) r.put("exec_vnode", exec_vnode(job));
  }
  r.put("Hold_Types", queue::holds_of(job));
  r.put("Join_Path", s.launch().std_err().empty() ? "oe" : "n");
  r.put("Keep_Files", "n");
  r.put("Mail_Points", s.mail_type().empty() ? "n" : "a");
  r.put_if(!s.mail_user().empty(), "Mail_Users", s.mail_user());
  put_time(r, "mtime",
           std::max({base::Time{job.status().submitted_us()}, client::start_of(job),
                     row.doing == Doing::kHasEnded ? client::end_of(job) : base::Time{}}));
  r.put("Output_Path", s.submit_host() + ":" + output);
  r.put("Priority", std::to_string(-s.nice()));
  put_time(r, "qtime", {job.status().submitted_us()});
  r.put("Rerunable", s.requeue() ? "True" : "False");
  put_resources(r, job, system);
  put_time(r, is_pro ? "stime" : "start_time", row.is_array ? base::Time{} : client::start_of(job));
  if (row.doing == Doing::kHasEnded) put_time(r, is_pro ? "history_timestamp" : "comp_time", client::end_of(job));
  r.put("interactive", s.kind() == static_cast<uint32_t>(model::JobKind::kBatch) ? "False" : "True");
  put_time(r, "etime", {job.status().eligible_us()});
  if (const std::string comment = comment_of(row); !comment.empty()) r.put("comment", comment);
  put_array(r, row, jobs.cluster());
  put_submission(r, job, variables);
  put_end(r, row);
  return r;
}

}  // namespace gw::cmds::pbs
