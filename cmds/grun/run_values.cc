// Values of grun's options.
#include "cmds/grun/run_values.h"

#include <fmt/format.h>

#include <cstdlib>

#include "base/bitset.h"
#include "base/hostlist.h"
#include "base/text.h"
#include "bind/words.h"
#include "cmds/request/locality_options.h"
#include "cmds/request/read_names.h"
#include "cmds/request/slurm_forms.h"
#include "cmds/shared/job_ids.h"

namespace gw::cmds {

using base::invalid;
using base::Status;

Status set_cpu_bind(RunOptions& o, std::string_view value) {
  if (value.empty()) return invalid("option --cpu-bind needs a value");
  GW_TRY(words, bind::parse_cpu(value));
  static_cast<void>(words);
  o.cpu_bind = base::to_lower(value);
  return {};
}

Status set_gpu_bind(RunOptions& o, std::string_view value) {
  GW_TRY(words, parse_gpu_bind(value));
  o.job.spec.gpu_bind = words;
  return {};
}

Status set_mem_bind(RunOptions& o, std::string_view value) {
  if (value.empty()) return invalid("option --mem-bind needs a value");
  GW_TRY(words, bind::parse_mem(value));
  static_cast<void>(words);
  o.mem_bind = base::to_lower(value);
  return {};
}

Status set_distribution(RunOptions& o, std::string_view value) {
  // SLURM_DISTRIBUTION has the size beside it.
  const char* size = base::iequals(value, "plane") ? std::getenv("SLURM_DIST_PLANESIZE") : nullptr;
  GW_TRY(how, parse_distribution(size == nullptr ? std::string(value) : "plane=" + std::string(size)));
  o.distribution = how;
  o.is_distribution_of_environment = false;  // whoever reads that says so
  return {};
}

Status read_hosts(RunOptions& o, const client::GetEnv& get) {
  const char* file = get("SLURM_HOSTFILE");
  const bool has_file = file != nullptr && *file != '\0' && o.listed_nodes.empty();  // -w says it better
  if (has_file) o.distribution = {attach::kBlock, true};
  if (!o.distribution.is_arbitrary) return {};
  if (has_file) {
    GW_TRY(hosts, read_hosts_of_tasks(file, "SLURM_HOSTFILE"));
    o.hosts = std::move(hosts);
  } else if (!o.listed_nodes.empty()) {
    GW_TRY(hosts, base::expand_hostlist(o.listed_nodes));
    o.hosts = std::move(hosts);
  }
  if (o.hosts.empty() && o.is_distribution_of_environment) {
    o.distribution = {};  // said of the job: this step has no list
    return {};
  }
  if (o.hosts.empty())
    return invalid("-m arbitrary: no host is named for any task",
                   "write one host a line, for task after task, and name the file in SLURM_HOSTFILE");
  model::Request& r = o.job.spec.request;
  if (r.tasks_given && r.tasks > o.hosts.size())
    return invalid(fmt::format("{} tasks asked, and hosts for {}", r.tasks, o.hosts.size()),
                   "name a host for each task");
  if (r.tasks_given) o.hosts.resize(r.tasks);
  r.tasks = static_cast<uint32_t>(o.hosts.size());
  r.tasks_given = true;
  return {};
}

Status set_het_groups(RunOptions& o, std::string_view value) {
  constexpr uint32_t kMostComponents = 128;
  const auto groups = base::IndexSet::parse(value);
  if (!groups || groups->empty() || groups->next(kMostComponents) != UINT32_MAX)
    return invalid("--het-group: \"" + base::printable(value, 40) + "\" names no components",
                   "give their numbers, as 0,2-3: the first is 0");
  o.het_groups = groups->to_vector();
  return {};
}

Status set_job(RunOptions& o, std::string_view value) {
  JobIds ids;
  GW_TRY_STATUS(parse_job_ids(value, ids));
  if (ids.size() != 1 || (!ids.jobs.empty() && ids.jobs.front() == 0))
    return base::invalid("--jobid: one job is needed, not \"" + base::printable(value, 60) + "\"");
  o.job_id = ids.jobs.empty() ? 0 : ids.jobs.front();
  o.array_task = std::move(ids.tasks);
  return {};
}

Status set_mpi(RunOptions& o, std::string_view value) {
  // Slurm's names with a version mean whatever version there is.
  const bool is_pmix = base::iequals(value, "pmix") || base::to_lower(value).starts_with("pmix_v");
  if (is_pmix || base::iequals(value, "none")) {
    o.pmix = is_pmix;
    return {};
  }
  if (base::iequals(value, "list")) {
    o.mpi_list = true;
    return {};
  }
  return invalid("option --mpi: there is no \"" + base::printable(value, 40) + "\"", "--mpi=list names what there is");
}

Status set_switch(bool& field, std::string_view value, std::string_view option) {
  if (!value.empty() && value != "0" && value != "1")
    return invalid("option " + std::string(option) + " takes 0 or 1, not \"" + base::printable(value, 40) + "\"");
  field = value != "0";
  return {};
}

}  // namespace gw::cmds
