// See queue_env.h.
#include "noded/core/queue_env.h"

#include <algorithm>
#include <vector>

#include "base/hostlist.h"
#include "base/text.h"

namespace gw::noded {
namespace {

constexpr size_t kMostNodes = 100'000, kMostBytes = 1 << 20;

/// "4(x2),3" as 4, 4, 3; empty: it cannot be read.
std::vector<uint32_t> counts_of(const std::string& text) {
  std::vector<uint32_t> counts;
  for (const std::string& part : base::split(text, ',')) {
    const size_t bracket = part.find("(x");
    const auto count = base::parse_int(part.substr(0, bracket), 0, UINT32_MAX, "tasks");
    const auto times =
        bracket == std::string::npos
            ? base::Result<int64_t>(1)
            : base::parse_int(part.substr(bracket + 2, part.size() - bracket - 3), 1, kMostNodes, "nodes");
    if (!count || !times || counts.size() + static_cast<size_t>(*times) > kMostNodes) return {};
    counts.insert(counts.end(), static_cast<size_t>(*times), static_cast<uint32_t>(*count));
  }
  return counts;
}

/// Of a job of sbatch with #PBS lines the id is the number, by which Slurm's commands know it.
void put_pbs(Env& env, const NodeFacts& node, const wire::Prepare& prepare, bool is_qsub) {
  const wire::JobSpec& spec = prepare.spec();
  std::string id = std::to_string(prepare.job());
  for (const char* name : {"PBS_ARRAY_INDEX", "PBS_ARRAYID", "PBS_ARRAY_ID", "PBS_NODEFILE"}) env.erase(name);
  if (spec.array().has_task()) {
    const std::string index = std::to_string(spec.array().task());
    env["PBS_ARRAY_INDEX"] = env["PBS_ARRAYID"] = index;  // PBS Pro, Torque
    env["PBS_ARRAY_ID"] = std::to_string(spec.array().job());
    id = env["PBS_ARRAY_ID"] + "[" + index + "]";
  }
  env["PBS_JOBID"] = is_qsub ? id + "." + prepare.cluster() : id;
  env["PBS_JOBNAME"] = spec.name();
  env["PBS_QUEUE"] = prepare.partition();
  env["PBS_NODENUM"] = env["PBS_VNODENUM"] = "0";
  env["PBS_TASKNUM"] = "1";
  env["PBS_NP"] = std::to_string(prepare.gang().all_tasks());
  env["PBS_NUM_NODES"] = std::to_string(prepare.gang().node_count());
  const std::vector<uint32_t> counts = counts_of(prepare.gang().tasks());
  env["PBS_NUM_PPN"] = std::to_string(counts.empty() ? 1 : counts.front());
  env["NCPUS"] = std::to_string(prepare.share().cpus());
  const base::Duration limit{prepare.time_limit_us()};
  if (limit.us > 0 && limit != base::kUnlimited) env["PBS_WALLTIME"] = std::to_string(limit.seconds());
  if (!pbs_node_lines(prepare.gang()).empty())
    env["PBS_NODEFILE"] = node.steps_dir + "/" + RunKey{prepare.job(), prepare.attempt()}.text() + "/" + kSlotsFile;
}

/// Cores for which the job asked on a node with so many tasks.
uint32_t slots_of(const wire::Prepare& prepare, uint32_t tasks) {
  return tasks * std::max(1U, prepare.spec().request().cpus_per_task());
}

/// ENVIRONMENT and the variables of the user are there already. ARC and SGE_ROOT are not: by these MPI libraries would
/// take Grid Engine's own way to start programs.
void put_sge(Env& env, const NodeFacts& node, const wire::Prepare& prepare) {
  const wire::JobSpec& spec = prepare.spec();
  const wire::ArrayPlace& place = spec.array();
  const bool is_task = place.has_task();
  for (const char* name : {"PBS_ENVIRONMENT", "PE_HOSTFILE"}) env.erase(name);
  env["JOB_ID"] = std::to_string(is_task ? place.job() : prepare.job());
  env["JOB_NAME"] = env["REQUEST"] = spec.name();
  env["QUEUE"] = prepare.partition();
  env["SGE_TASK_ID"] = is_task ? std::to_string(place.task()) : "undefined";
  env["SGE_TASK_FIRST"] = is_task ? std::to_string(place.least()) : "undefined";
  env["SGE_TASK_LAST"] = is_task ? std::to_string(place.most()) : "undefined";
  env["SGE_TASK_STEPSIZE"] = is_task ? std::to_string(place.step()) : "undefined";
  env["NSLOTS"] = std::to_string(slots_of(prepare, std::max(1U, prepare.gang().all_tasks())));
  env["NHOSTS"] = std::to_string(std::max(1U, prepare.gang().node_count()));
  env["NQUEUES"] = "1";
  env["RESTARTED"] = prepare.restarts() > 0 ? "1" : "0";
  env["SGE_CELL"] = "default";
  env["SGE_CLUSTER_NAME"] = prepare.cluster();
  if (!sge_host_lines(prepare).empty())
    env["PE_HOSTFILE"] = node.steps_dir + "/" + RunKey{prepare.job(), prepare.attempt()}.text() + "/" + kSlotsFile;
}

constexpr const char* kOfPbs[] = {"PBS_ARRAYID", "PBS_ARRAY_ID",  "PBS_ARRAY_INDEX", "PBS_ENVIRONMENT",
                                  "PBS_JOBID",   "PBS_JOBNAME",   "PBS_NODEFILE",    "PBS_NODENUM",
                                  "PBS_NP",      "PBS_NUM_NODES", "PBS_NUM_PPN",     "PBS_QUEUE",
                                  "PBS_TASKNUM", "PBS_VNODENUM",  "PBS_WALLTIME",    "NCPUS"};
constexpr const char* kOfSge[] = {
    "JOB_ID",           "JOB_NAME",       "NHOSTS",      "NQUEUES",       "NSLOTS",
    "PE_HOSTFILE",      "QUEUE",          "REQUEST",     "RESTARTED",     "SGE_CELL",
    "SGE_CLUSTER_NAME", "SGE_TASK_FIRST", "SGE_TASK_ID", "SGE_TASK_LAST", "SGE_TASK_STEPSIZE"};

/// What an enclosing job was told of itself: known by a name that jobs alone have, since Grid Engine's own settings
/// give its users SGE_CLUSTER_NAME and the like.
void drop_enclosing(Env& env, bool is_pbs) {
  if (!is_pbs && env.contains("PBS_ENVIRONMENT"))
    for (const char* name : kOfPbs) env.erase(name);
  if (env.contains("SGE_TASK_ID"))
    for (const char* name : kOfSge) env.erase(name);
}

}  // namespace

bool is_of_pbs(const Env& env) {
  const auto it = env.find("PBS_ENVIRONMENT");
  return it != env.end() && it->second == "PBS_BATCH";
}

void put_queue_variables(Env& env, const NodeFacts& node, const wire::Prepare& prepare) {
  const auto by = env.find("GANGWAY_SUBMITTED_BY");
  const std::string submitted_by = by == env.end() ? std::string() : by->second;
  if (by != env.end()) env.erase(by);  // not of what the job submits itself
  drop_enclosing(env, submitted_by != "sge" && is_of_pbs(env));
  if (submitted_by == "sge")
    put_sge(env, node, prepare);
  else if (is_of_pbs(env))
    put_pbs(env, node, prepare, submitted_by == "pbs");
}

std::string pbs_node_lines(const wire::Gang& gang) {
  const auto names = base::expand_hostlist(gang.nodes(), kMostNodes);
  const std::vector<uint32_t> counts = counts_of(gang.tasks());
  if (!names || names->size() != counts.size()) return {};
  std::string lines;
  for (size_t i = 0; i < counts.size(); ++i) {
    if (lines.size() + counts[i] * ((*names)[i].size() + 1) > kMostBytes) return {};
    for (uint32_t k = 0; k < counts[i]; ++k) lines += (*names)[i] + "\n";
  }
  return lines;
}

std::string sge_host_lines(const wire::Prepare& prepare) {
  const auto names = base::expand_hostlist(prepare.gang().nodes(), kMostNodes);
  const std::vector<uint32_t> counts = counts_of(prepare.gang().tasks());
  if (!names || names->size() != counts.size()) return {};
  std::string lines;
  for (size_t i = 0; i < counts.size() && lines.size() <= kMostBytes; ++i) {
    const std::string& name = (*names)[i];
    lines += name + " " + std::to_string(slots_of(prepare, counts[i])) + " " + prepare.partition() + "@" + name +
             " UNDEFINED\n";
  }
  return lines.size() > kMostBytes ? std::string() : lines;
}

}  // namespace gw::noded
