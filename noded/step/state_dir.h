// The state folder of a step, all that survives of it on disk: `sock`, `script`, `hosts`, the records `exit` and
// `clean`. Invariants: the folder belongs to the daemon (0711: the user may reach the script, not list or change it);
// the exit record is synced before anybody is told.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "noded/step/proc/fd.h"
#include "wire/step.pb.h"

namespace gw::noded::step {

/// Makes the folder (its parent must exist) and listens on its socket. Errors: it exists already; path too long; errno.
base::Result<proc::Fd> make_state_dir(const std::string& dir);
/// Writes `dir/script`, mode 0500, owned by the user. Errors: errno.
base::Status write_script(const wire::StepSpec& spec);
std::string script_path(const std::string& dir);
/// Path of the step's /etc/hosts, written if spec.hosts has lines: the machine's file and those lines.
base::Result<std::string> write_hosts(const wire::StepSpec& spec);

base::Status record_exit(const std::string& dir, const wire::StepExit& exit);
base::Status record_clean(const std::string& dir, const wire::StepClean& clean);
/// The records; nothing if there are none or they are damaged. For a daemon that finds a folder without a shepherd.
std::optional<wire::StepExit> read_exit(const std::string& dir);
std::optional<wire::StepClean> read_clean(const std::string& dir);
/// Removes the folder with everything that a shepherd puts there. No error if it does not exist.
base::Status remove_state_dir(const std::string& dir);

}  // namespace gw::noded::step
