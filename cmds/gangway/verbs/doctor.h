// What `gangway doctor` finds out about this host. Each check is a function that returns findings and changes nothing.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "config/config.h"
#include "wire/api.pb.h"

namespace gw::cmds {

enum class Health { kOk, kWarn, kFail };

struct Finding {
  Health health = Health::kOk;
  std::string check;  ///< "munge", "clock", ...
  std::string text;
  std::string remedy;  ///< Empty with kOk.
};
using Findings = std::vector<Finding>;

Findings check_munge(const config::Config& config);
/// Version warnings and the mode of the key; split off so that they can be tested.
Finding judge_munge_version(const std::string& version);
/// Controller reachable, its version, the offset of its clock.
Findings check_controller(const std::string& config_path, const config::Config& config);
/// What the controller warns of at its nodes: GPUs that are missing, say. Nothing where it does not answer.
Findings check_nodes(const std::string& config_path);
Findings judge_nodes(const wire::ListNodesReply& nodes);
/// `offset`: the controller's clock minus ours.
Finding judge_clock(base::Duration offset);
/// A warning for each node that runs what the controller's state does not know.
Findings judge_foreign_runs(const wire::ListNodesReply& nodes);
/// What jobs are contained by where gnoded runs as this user.
Findings check_containment(const config::Config& config);
/// Would a probe by `uid` say what gnoded gets? It does as root, and as the user of a private cluster, whose gnoded
/// runs as that user. If not, the finding that says so.
std::optional<Finding> explain_no_probe(uint32_t uid, const config::Config& config);
/// Reads what `gstepd --probe --json` prints.
Findings judge_probe(const std::string& json);
Findings check_users(const config::Config& config);
Findings check_disks(const config::Config& config);
/// `free_mb` of `total_mb` that are left below `path`.
Finding judge_disk(const std::string& path, uint64_t free_mb, uint64_t total_mb);

std::string findings_text(const Findings& findings, bool colour);
std::string findings_json(const Findings& findings);
bool has_failure(const Findings& findings);

}  // namespace gw::cmds
