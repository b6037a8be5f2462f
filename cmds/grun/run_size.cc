// How large a step is: from options and from the allocation that it is in.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/hostlist.h"
#include "base/text.h"
#include "cmds/grun/run_options.h"

namespace gw::cmds {
namespace {

using base::invalid;
using base::Result;

uint32_t number_of(const client::GetEnv& get, const char* name) {
  for (const char* prefix : {"GANGWAY_", "SLURM_"}) {
    const char* text = get((std::string(prefix) + name).c_str());
    if (text == nullptr) continue;
    const std::string_view digits = std::string_view(text).substr(0, std::string_view(text).find('('));
    if (const auto n = base::parse_int(digits, 0, UINT32_MAX, name)) return static_cast<uint32_t>(*n);
  }
  return 0;
}

/// GPUs of one task, by whichever option says it. Errors: a number that the tasks cannot share out evenly.
Result<uint32_t> gpus_of_a_task(const GpuOptions& gpus, uint32_t tasks, uint32_t nodes, uint32_t per_node) {
  if (gpus.per_task.given) return gpus.per_task.count;
  const bool by_node = gpus.per_node.given;
  if (!by_node && !gpus.total.given) return 0;
  const uint32_t count = by_node ? gpus.per_node.count : gpus.total.count;
  uint32_t sharers = tasks;
  if (by_node) sharers = per_node > 0 ? per_node : nodes > 0 ? (tasks + nodes - 1) / nodes : tasks;
  if (count == 0) return 0;
  if (sharers == 0 || count % sharers != 0)
    return invalid(
        std::to_string(count) + " GPUs cannot be shared out evenly among " + std::to_string(sharers) + " tasks",
        "say --gpus-per-task");
  return count / sharers;
}

/// One task on each line of the list of hosts.
void size_by_hosts(const std::vector<std::string>& hosts, model::StepRequest& s) {
  s.hosts = hosts;
  s.tasks = static_cast<uint32_t>(hosts.size());
  s.min_nodes = s.max_nodes = s.tasks_per_node = 0;
  s.nodelist.clear();
}

/// An allocation in which there is room for the tasks of the fullest host on each.
void ask_for_hosts(const std::vector<std::string>& hosts, bool is_overcommitted, model::Request& r) {
  std::map<std::string, uint32_t> tasks;
  for (const std::string& host : hosts) ++tasks[host];
  r.nodelist.clear();
  r.tasks_per_node = 0;
  for (const auto& [host, count] : tasks) {
    r.nodelist.push_back(host);
    r.tasks_per_node = std::max(r.tasks_per_node, is_overcommitted ? 1 : count);
  }
  r.nodes_given = true;
  r.min_nodes = r.max_nodes = static_cast<uint32_t>(tasks.size());
  r.tasks_given = false;
  r.tasks = 1;
}

/// CPUs of a task are said, and nothing that gives another number of tasks: GPUs to be shared out among them neither.
bool fills_nodes(const RunOptions& o) {
  const model::Request& r = o.job.spec.request;
  if (r.tasks_given || r.tasks_per_node > 0 || o.overcommit || !o.hosts.empty()) return false;
  return o.job.given.cpus_per_task && o.job.gpus.total.count == 0 && o.job.gpus.per_node.count == 0;
}

/// What says nothing of sizes.
void set_manner(const RunOptions& o, model::StepRequest& s) {
  s.name = o.job.spec.name;
  s.overcommit = o.overcommit;
  s.cpu_bind = o.cpu_bind;
  s.gpu_bind = o.job.spec.gpu_bind;
  s.mem_bind = o.mem_bind;
  s.plane = o.distribution.plane;
  s.tasks_per_socket = o.job.spec.request.tasks_per_socket;
  s.whole_cores = o.job.spec.request.whole_cores;
  s.kept = o.keep;
  s.terminal = o.pty;
}

}  // namespace

base::Status check_job_of_environment(const client::GetEnv& get) {
  for (const char* name : {"GANGWAY_JOB_ID", "GANGWAY_JOBID", "SLURM_JOB_ID", "SLURM_JOBID"}) {
    const char* text = get(name);
    if (text == nullptr || *text == '\0' || base::parse_int(text, 0, UINT32_MAX, name)) continue;
    return invalid(std::string(name) + "=" + base::printable(text, 40) + " is no job id",
                   std::string("unset ") + name + ", or call it inside a job");
  }
  return {};
}

uint32_t components_of_environment(const client::GetEnv& get) { return number_of(get, "HET_SIZE"); }

Result<uint32_t> component_of_environment(const client::GetEnv& get, uint32_t component) {
  const std::string name = fmt::format("JOB_ID_HET_GROUP_{}", component);
  if (const uint32_t id = number_of(get, name.c_str()); id != 0) return id;
  return invalid(fmt::format("--het-group: SLURM_{} is not set", name));
}

JobFacts facts_of_environment(const client::GetEnv& get) {
  JobFacts job;
  job.id = number_of(get, "JOB_ID");
  if (job.id == 0) job.id = number_of(get, "JOBID");
  if (job.id == 0) return job;
  for (const char* name : {"GANGWAY_JOB_NODELIST", "SLURM_JOB_NODELIST"}) {
    const char* text = get(name);
    if (text == nullptr || !job.nodes.empty()) continue;
    if (auto names = base::expand_hostlist(text)) job.nodes = std::move(*names);
  }
  job.tasks = number_of(get, "NTASKS");
  job.tasks_per_node = number_of(get, "NTASKS_PER_NODE");
  job.cpus_per_task = number_of(get, "CPUS_PER_TASK");
  job.gpus_per_task = number_of(get, "GPUS_PER_TASK");
  return job;
}

// A size that the command line does not give is the job's; CPUs and GPUs of a task only together with its tasks.
Result<model::StepRequest> step_inside(const RunOptions& o, const JobFacts& job) {
  const model::Request& r = o.job.spec.request;
  const auto nodes_of_job = static_cast<uint32_t>(job.nodes.size());
  model::StepRequest s;
  const bool has_size = r.tasks_given || r.nodes_given || r.tasks_per_node > 0 || !r.nodelist.empty();
  s.tasks_per_node = r.tasks_per_node;
  s.nodelist = r.nodelist;
  s.exclude = r.exclude;
  if (o.relative > 0) {
    if (o.relative >= nodes_of_job)
      return invalid("option -r/--relative: the job has " + std::to_string(nodes_of_job) + " nodes",
                     "give a smaller number");
    s.exclude.insert(s.exclude.end(), job.nodes.begin(), job.nodes.begin() + o.relative);
  }
  s.tasks = r.tasks_given ? r.tasks : has_size ? 0 : job.tasks;
  if (!o.hosts.empty()) {
    s.min_nodes = 0;  // they say it
  } else if (r.nodes_given) {
    s.min_nodes = r.min_nodes;
    s.max_nodes = r.max_nodes;
  } else if (s.tasks == 0 && s.nodelist.empty()) {
    s.min_nodes = s.max_nodes = nodes_of_job;
  } else if (s.tasks > 0 && s.tasks_per_node == 0) {
    s.min_nodes = std::min(std::max(nodes_of_job, o.relative) - o.relative, s.tasks);
  }
  if (s.tasks > 0 && s.min_nodes > s.tasks)
    return invalid("can't run " + std::to_string(s.tasks) + " processes on " + std::to_string(s.min_nodes) + " nodes",
                   "ask for fewer nodes");
  s.cpus_per_task = o.job.given.cpus_per_task ? r.cpus_per_task : has_size ? 0 : job.cpus_per_task;
  s.fills = fills_nodes(o);
  const uint32_t nodes = s.min_nodes > 0 ? s.min_nodes : nodes_of_job;
  const uint32_t tasks = s.tasks > 0 ? s.tasks : nodes * std::max(s.tasks_per_node, 1u);
  GW_TRY(gpus, gpus_of_a_task(o.job.gpus, tasks, nodes, s.tasks_per_node));
  s.gpus_per_task = gpus > 0 || has_size ? gpus : job.gpus_per_task;
  if (!o.hosts.empty()) size_by_hosts(o.hosts, s);
  set_manner(o, s);
  s.overlap = o.overlap;
  s.whole = o.whole;
  return s;
}

Result<model::StepRequest> step_outside(RunOptions& o, std::vector<std::string>& notes) {
  model::Request& r = o.job.spec.request;
  model::StepRequest s;
  s.tasks_per_node = r.tasks_per_node;
  if (o.overcommit && r.tasks_given) {  // an allocation is not asked for more than what it holds
    s.tasks = r.tasks;
    r.tasks_given = false;
    r.tasks = 1;
  }
  const bool says_cpus = o.job.given.cpus_per_task;
  s.fills = r.exclusive && fills_nodes(o);
  if (!o.hosts.empty()) ask_for_hosts(o.hosts, o.overcommit, r);
  GW_TRY_STATUS(complete(o.job, notes));
  s.cpus_per_task = says_cpus ? r.cpus_per_task : 0;
  if (r.gpu_counting == model::GpuCounting::kPerTask) s.gpus_per_task = r.gpus;
  if (!o.hosts.empty()) size_by_hosts(o.hosts, s);
  set_manner(o, s);
  s.whole = true;
  return s;
}

}  // namespace gw::cmds
