// The configuration under the keys of Slurm's `scontrol show config`.
#pragma once

#include <string>

#include "wire/api.pb.h"

namespace gw::cmds {

/// A line for each key that programs read, in Slurm's order and form, true of this cluster: what Gangway does without
/// being told so, and what its configuration says. `path`: the configuration file that the command read.
std::string slurm_config_lines(const wire::ShowConfigReply& config, const std::string& path);

}  // namespace gw::cmds
