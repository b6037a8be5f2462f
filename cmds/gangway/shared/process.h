// Daemons of a private cluster as processes: started in a session of their own, found again only by their pid files.
// Invariant: no signal is sent to a process before its command line was seen to name the pid file it was found by, and
// the signal goes through a pidfd taken before that look, so that a number used again cannot be hit.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace gw::cmds {

/// A command line and where its output goes.
struct Program {
  std::string name;               ///< "gctld", "gnoded.n0": for messages.
  std::vector<std::string> argv;  ///< argv[0] is an absolute path.
  std::string pid_file;           ///< Named in argv; the program writes it.
  std::string output;             ///< File that standard output and error are appended to.
};

/// Starts it in its own session, with / as working directory and nothing inherited but the environment. Returns its
/// pid.
base::Result<pid_t> start_detached(const Program& program);

/// The pid in a pid file if that process lives and its command line names the file.
std::optional<pid_t> find_by_pid_file(const std::string& pid_file);

/// Ends what the pid file names: SIGTERM, then SIGKILL after `patience_ms`. True once it is gone or was not there;
/// false if it outlives SIGKILL for as long again.
bool stop_by_pid_file(const std::string& pid_file, int patience_ms);

/// Likewise for a child of ours, which need not have written its pid file yet.
bool stop_child(pid_t pid, int patience_ms);

/// Whether a child of ours has ended (and reaps it); a pid that is not our child counts as running while it exists.
bool has_exited(pid_t pid);

/// Waits until no process is left whose program is called `name` and that has an argument which names something below
/// `folder`; ends nobody. False if one is still there after `patience_ms`.
bool wait_for_last_of(const std::string& name, const std::string& folder, int patience_ms);

/// The arguments of a process; empty if it is gone or a zombie.
std::vector<std::string> command_line_of(pid_t pid);

/// Folder of the running program, links resolved.
std::string own_folder();

/// Path of one of our programs: beside this one, in ../sbin or in ../libexec/gangway. Errors: kNotFound, naming the
/// places.
base::Result<std::string> find_program(const std::string& name);

/// The last `lines` lines of a file; empty if it cannot be read.
std::string tail_of(const std::string& path, size_t lines);

}  // namespace gw::cmds
