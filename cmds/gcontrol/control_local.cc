// Verbs of gcontrol that ask nobody: help, errnumstr, and listpids, which looks at this machine.
#include <dirent.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>

#include "base/text.h"
#include "client/show/format.h"
#include "cmds/gcontrol/control_verbs.h"
#include "cmds/shared/step_ids.h"

namespace gw::cmds {
namespace {

using client::Program;

/// Numbers of errors as programs of Slurm know them, with the sentence that commands print for each.
struct NumberedError {
  int64_t number;
  std::string_view text;
};
constexpr NumberedError kErrors[] = {
    {0, "No error"},
    {1800, "Unable to contact slurm controller (connect failure)"},
    {2000, "Invalid partition name specified"},
    {2001, "No partition specified or system default partition"},
    {2002, "Access/permission denied"},
    {2003, "User's group not permitted to use this partition"},
    {2004, "Requested nodes not in this partition"},
    {2005, "More processors requested than permitted"},
    {2006, "Node count specification invalid"},
    {2009, "Job script not specified"},
    {2010, "Invalid user id"},
    {2011, "Duplicate job id"},
    {2013, "Immediate execution impossible, insufficient priority"},
    {2014, "Requested node configuration is not available"},
    {2016, "Requested nodes are busy"},
    {2017, "Invalid job id specified"},
    {2018, "Invalid node name specified"},
    {2020, "Job can not be altered now, try again later"},
    {2021, "Job/step already completing or completed"},
    {2024, "Job is pending execution"},
    {2025, "Task count specification invalid"},
    {2028, "Invalid node state specified"},
    {2029, "Invalid feature specification"},
    {2036, "Requested operation not supported on this system"},
    {2037, "Requested operation is presently disabled"},
    {2038, "Job dependency problem"},
    {2042, "Job is in held state, pending scheduler release"},
    {2044, "Memory required by task is not available"},
    {2045, "Invalid account or account/partition combination specified"},
    {2048, "Invalid license specification"},
    {2050, "Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)"},
    {2051, "Requested time limit is invalid (missing or exceeds some limit)"},
    {2052, "Access denied to requested reservation"},
    {2053, "Requested reservation is invalid"},
    {2054, "Invalid time specified"},
    {2057, "Invalid wckey specification"},
    {2066, "Invalid qos specification"},
    {2068, "Required node not available (down, drained or reserved)"},
    {2069, "CPU count specification invalid"},
    {2071, "Circular job dependency"},
    {2072, "Invalid generic resource (gres) specification"},
    {2073, "Job is no longer pending execution"},
    {2077, "Job is current suspended, requested operation disabled"},
    {2078, "Job can not start immediately"},
    {2081, "Invalid job array specification"},
    {2083, "Job has already started"},
    {2084, "Job has already finished"},
    {2085, "Job is not running"},
    {2087, "Job is not suspended"},
    {2115, "Invalid Trackable RESource (TRES) specification"},
};
/// Below it numbers are the operating system's.
constexpr int64_t kFirstOwn = 1000;

/// What listpids tells of a process.
struct JobProcess {
  int64_t pid = 0;
  std::string cluster, job, step, local, global;
};

bool is_number(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// By the environment that it was started with; nullopt: it is of no job, or of somebody else.
std::optional<JobProcess> job_process(const std::string& pid) {
  std::ifstream file("/proc/" + pid + "/environ", std::ios::binary);
  const std::string all{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  JobProcess found;
  std::string step, leader;
  for (const std::string& line : base::split(all, '\0')) {
    if (line.starts_with("SLURM_CLUSTER_NAME=")) found.cluster = line.substr(line.find('=') + 1);
    const auto take = [&line](std::string_view name, std::string& value) {
      if (line.starts_with(name) && is_number(line.substr(name.size()))) value = line.substr(name.size());
    };
    take("SLURM_JOB_ID=", found.job);
    take("SLURM_STEP_ID=", step);
    take("SLURM_LOCALID=", found.local);
    take("SLURM_PROCID=", found.global);
    take("SLURM_TASK_PID=", leader);
  }
  if (found.job.empty()) return std::nullopt;
  found.pid = std::atoll(pid.c_str());
  found.step = step.empty() ? "batch" : step;
  if (leader != pid) found.local = found.global = "-";  // a child of the task
  return found;
}

std::vector<JobProcess> job_processes() {
  std::vector<JobProcess> out;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir("/proc"), ::closedir);
  while (const dirent* entry = folder ? ::readdir(folder.get()) : nullptr)
    if (is_number(entry->d_name))
      if (auto found = job_process(entry->d_name)) out.push_back(std::move(*found));
  std::sort(out.begin(), out.end(), [](const JobProcess& a, const JobProcess& b) { return a.pid < b.pid; });
  return out;
}

}  // namespace

int control_errnumstr(const Program& program, const ControlOptions&, Args words) {
  if (words.size() != 1)
    return failed(program, {base::ErrorCode::kInvalid, "errnumstr takes one number", "such as: errnumstr 2017"});
  const auto number = base::parse_int(words.front(), 0, INT32_MAX, "error number");
  if (!number) return failed(program, number.error());
  const auto known =
      std::find_if(std::begin(kErrors), std::end(kErrors), [&](const NumberedError& e) { return e.number == *number; });
  if (known != std::end(kErrors)) return printed(fmt::format("{}\n", known->text));
  if (*number < kFirstOwn) return printed(fmt::format("{}\n", std::strerror(static_cast<int>(*number))));
  return printed(fmt::format("Unknown error {}\n", *number));
}

int control_listpids(const Program& program, const ControlOptions&, Args words) {
  if (words.size() > 2) return refuse_operand(program, words[2], "listpids takes a job or step, and this node");
  StepChoice wanted;
  if (!words.empty() && words.front() != "*")
    if (auto done = parse_step_ids(words.front(), wanted); !done) return failed(program, done.error());
  const auto config = client::load_config();
  if (!config) return failed(program, config.error());
  std::string out = fmt::format("{:<8} {:<8} {:<8} {:<7} {:<8}\n", "PID", "JOBID", "STEPID", "LOCALID", "GLOBALID");
  bool is_any = false;
  for (const JobProcess& p : job_processes()) {
    if (p.cluster != config->cluster) continue;
    const std::string step = p.job + "." + p.step;
    if (!words.empty() && words.front() != "*" && words.front() != p.job && words.front() != step) continue;
    is_any = true;
    out += fmt::format("{:<8} {:<8} {:<8} {:<7} {:<8}\n", p.pid, p.job, p.step, p.local.empty() ? "-" : p.local,
                       p.global.empty() ? "-" : p.global);
  }
  if (is_any) return printed(out);
  const std::string whose = words.empty() || words.front() == "*" ? "" : " of " + base::printable(words.front(), 60);
  return failed(program, {base::ErrorCode::kNotFound, "No job steps" + whose + " exist on this node",
                          "users see their own processes, root those of all"});
}

}  // namespace gw::cmds
