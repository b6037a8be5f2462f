// See pbs_env.h.
#include "noded/core/pbs_env.h"

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

}  // namespace

bool is_of_pbs(const Env& env) {
  const auto it = env.find("PBS_ENVIRONMENT");
  return it != env.end() && it->second == "PBS_BATCH";
}

void put_pbs(Env& env, const NodeFacts& node, const wire::Prepare& prepare) {
  if (!is_of_pbs(env)) return;
  const wire::JobSpec& spec = prepare.spec();
  std::string id = std::to_string(prepare.job());
  for (const char* name : {"PBS_ARRAY_INDEX", "PBS_ARRAYID", "PBS_ARRAY_ID", "PBS_NODEFILE"}) env.erase(name);
  if (spec.array().has_task()) {
    const std::string index = std::to_string(spec.array().task());
    env["PBS_ARRAY_INDEX"] = env["PBS_ARRAYID"] = index;  // PBS Pro, Torque
    env["PBS_ARRAY_ID"] = std::to_string(spec.array().job());
    id = env["PBS_ARRAY_ID"] + "[" + index + "]";
  }
  env["PBS_JOBID"] = id;
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
    env["PBS_NODEFILE"] = node.steps_dir + "/" + RunKey{prepare.job(), prepare.attempt()}.text() + "/" + kPbsNodeFile;
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

}  // namespace gw::noded
