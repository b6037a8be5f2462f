// The command lines of a private cluster's daemons, and their records in the runtime folder.
// Invariant: a daemon takes everything from its arguments, so the recorded command starts it again by hand.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cmds/gangway/dev/dev_config.h"
#include "cmds/gangway/dev/dev_layout.h"
#include "cmds/gangway/shared/process.h"

namespace gw::cmds {

base::Result<Program> munged_program(const DevLayout& layout);
/// "gctld", "gscriptd" or "gwebd".
base::Result<Program> head_program(const DevLayout& layout, const std::string& name);
/// Daemon of the i-th node with its topology.
base::Result<Program> gnoded_program(const DevLayout& layout, uint32_t index, const std::string& topology);

/// Makes a new MUNGE key, readable by us only, unless there is one.
base::Status make_munge_key(const DevLayout& layout);

/// Records the command and starts it. Errors name the program.
base::Result<pid_t> start_daemon(const DevLayout& layout, const Program& program);

/// The recorded command as shell words; empty if there is none.
std::string recorded_command(const DevLayout& layout, const std::string& daemon);

/// "NAME ended at once" with the last lines of its log and output.
base::Error daemon_failure(const DevLayout& layout, const std::string& daemon, const std::string& what);

}  // namespace gw::cmds
