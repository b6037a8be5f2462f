// What every process of a step goes through between its fork and its execve, whatever it then runs.
// Invariant: no path that the user chose is touched before the process is the user.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>

#include "base/result.h"
#include "noded/step/containment.h"
#include "noded/step/proc/owned_fd.h"
#include "wire/step.pb.h"

namespace gw::noded::step {

struct Pipe {
  proc::OwnedFd read_end;
  proc::OwnedFd write_end;
};
/// Closed by execve; both ends above 2, since a child replaces its standard streams while it uses them.
base::Result<Pipe> make_pipe();
/// Moves a descriptor above 2. Errors: there are too many.
base::Status lift(proc::OwnedFd& fd);

struct Forked {
  pid_t pid = -1;
  bool cloned_into = false;  ///< It was born in the group: see Containment::join.
};
/// `group_fd`: Containment::clone_into_fd().
Forked fork_into(int group_fd);
/// Runs `body`, which does not return, in a process whose parent is this process's parent. It shares this one's memory,
/// so that nothing is copied, and this one, which has one thread, waits until it has executed a program or left.
/// Under sanitizers it has memory of its own, and comes to the parent when this process ends. Returns as fork() does.
pid_t spawn_sibling(const std::function<void()>& body);

/// What differs between the script of a job and the tasks of a step.
struct ChildSettings {
  const std::string& hosts;  ///< File to show as /etc/hosts; may be empty.
  uint32_t umask = 022;
  bool ignores_ends = false;  ///< Signals that tasks are sent to end, or to tell them something, are not for it.
};
using NoteFn = std::function<void(const std::string&)>;
/// In the child: standard signals, a session of its own, the containment, the host's name, the user. What failed and
/// does not matter is noted.
base::Status enter_step(const wire::StepSpec& spec, Containment& contain, const ChildSettings& settings,
                        bool cloned_into, const NoteFn& note);
/// In the child: limits of the submission, by Slurm's names.
void apply_limits(const google::protobuf::Map<std::string, uint64_t>& limits, const NoteFn& note);
/// In the child: waits for a byte of `go`; the process ends if the shepherd has gone, since nobody would watch it.
void wait_for_go(int go);
/// The sentence and the errno of chdir, if it fails.
base::Status enter_work_dir(const std::string& dir);

}  // namespace gw::noded::step
