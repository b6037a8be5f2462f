// The state folder of a step, all that survives of it on disk: `sock`, `script`, `hosts`, the records `order`, `exit`
// and `clean`, and `preempted`, which the job may read. Invariants: the folder belongs to the daemon (0711: the user
// may reach the script, not list or change it); the exit record is synced before anybody is told.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "noded/step/proc/owned_fd.h"
#include "wire/node.pb.h"
#include "wire/step.pb.h"

namespace gw::noded::step {

/// What a preempted job is told; nothing is there before.
constexpr char kPreemptFile[] = "preempted";
constexpr char kHostsFile[] = "nodes";
/// What PBS_NODEFILE and PE_HOSTFILE name.
constexpr char kSlotsFile[] = "slots";

/// Makes the folder (its parent must exist) and listens on its socket. Errors: it exists already; path too long; errno.
base::Result<proc::OwnedFd> make_state_dir(const std::string& dir);
/// Writes `dir/script`, mode 0500, owned by the user. Errors: errno.
base::Status write_script(const wire::StepSpec& spec);
std::string script_path(const std::string& dir);
/// Writes `dir/slots`, for the user to read, if there is to be one. Errors: errno.
base::Status write_slots(const wire::StepSpec& spec);
/// Path of the step's /etc/hosts, written if spec.hosts has lines: the machine's file and those lines.
base::Result<std::string> write_hosts(const wire::StepSpec& spec);

/// What the controller said of the step's end; written by the node daemon before it tells the shepherd to stop, so that
/// both may be started again in between.
base::Status record_order(const std::string& dir, const wire::Stop& order);
std::optional<wire::Stop> read_order(const std::string& dir);
/// Tells the job that it is preempted: a file (JSON) that appears whole, for its user alone to read.
/// `what` becomes of it then: "requeue", "cancel", "checkpoint" or "suspend". Errors: errno.
base::Status write_preempt_file(const wire::StepSpec& spec, const wire::Stop& order, std::string_view what);
/// It was suspended, and resumes.
void remove_preempt_file(const std::string& dir);
/// It has been carried out: a later end has an order of its own, or none.
void remove_order(const std::string& dir);

/// Tells an elastic gang which nodes it has: a file with a name a line, which appears whole, for its user alone to
/// read. True: they are others than were written last. Errors: errno.
base::Result<bool> write_hosts_file(const std::string& dir, const wire::Resize& order);

base::Status record_exit(const std::string& dir, const wire::StepExit& exit);
base::Status record_clean(const std::string& dir, const wire::StepClean& clean);
/// The records; nothing if there are none or they are damaged. For a daemon that finds a folder without a shepherd.
std::optional<wire::StepExit> read_exit(const std::string& dir);
std::optional<wire::StepClean> read_clean(const std::string& dir);
/// Removes the folder with every file in it. No error if it does not exist. Errors: errno; something in it is a folder.
base::Status remove_state_dir(const std::string& dir);
/// Somebody removed the folder: no node daemon can find the step any more.
bool is_state_dir_gone(const std::string& dir);

}  // namespace gw::noded::step
