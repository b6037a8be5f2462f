// Task prolog and epilog: programs of the node's administrator, and of who launches a step, that run as the job's user
// around each task. What a prolog prints says what becomes of the task's environment (Slurm's `export NAME=value`,
// `unset NAME`, `print TEXT`).
// The process of a task executes this program first, which runs the prologs one after the other and then becomes what
// the task is: its process id, its streams, its limits and its containment are the task's from the beginning. Epilogs
// run below a process of their own, beside tasks that still run.
// Invariants: the programs are run as the user, never as the daemon; a task whose prolog fails does not run; what a
// program prints is bounded, and none runs longer than its limit, in which frozen time does not count; one that leaves
// its output open to what it started holds up nobody.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "noded/step/containment.h"
#include "noded/step/start/child.h"
#include "noded/step/start/task_env.h"
#include "wire/launch.pb.h"
#include "wire/step.pb.h"

namespace gw::noded::step {

/// The first words of a call of this program that runs prologs or epilogs: see begin_task(), end_task().
constexpr char kBeginTask[] = "--begin-task";
constexpr char kEndTask[] = "--end-task";
/// What a prolog prints beyond that is dropped.
constexpr size_t kMostProlog = 1 << 20;

/// Of the administrator and of the launch, in the order in which they run; empty: there are none. A script has no
/// launch.
struct TaskPrograms {
  std::vector<std::string> prologs;
  std::vector<std::string> epilogs;
  base::Duration limit;       ///< Of each.
  base::Duration login = {};  ///< The script has the variables of a login, which may take so long; zero: not.
};
TaskPrograms programs_of(const wire::StepSpec& spec, const wire::LaunchTasks& launch = {});

/// How it is told that the task's own program cannot be executed, and how that is found.
enum class TaskForm : char { kScript = 's', kProgram = 'p', kSlurmProgram = 'r' };
/// `words` behind the login and the prologs: what the task's process is to execute. Unchanged without these.
std::vector<std::string> behind_prologs(const TaskPrograms& programs, TaskForm form, std::vector<std::string> words);
/// The words behind kBeginTask. Returns only if the task does not run, with its exit code, after a line that says why.
int begin_task(int argc, char** argv);

/// What epilogs are run with: of the task that has ended.
struct EpilogPlace {
  const std::string& hosts;  ///< As in ChildSettings.
  const std::string& work_dir;
};
/// Forks a process that runs the epilogs, as the user and in the step's containment, with nothing to read and nowhere
/// to print to. Its exit code is that of the first one that failed, or 0. Errors: errno of fork.
base::Result<pid_t> start_epilogs(const wire::StepSpec& spec, Containment& contain, const TaskPrograms& programs,
                                  const EpilogPlace& place, std::vector<std::string> environment);
/// The words behind kEndTask.
int end_task(int argc, char** argv);

/// Puts the variables that a login has printed (`env -0`, behind kLoginMark) below those that are there; PATH, where it
/// is not, begins with the folders of GANGWAY_COMMAND_PATH. Errors: there is no mark.
constexpr char kLoginMark[] = "GANGWAY-LOGIN-ENVIRONMENT";
base::Status take_login_output(std::string_view text, Environment& environment);

/// What the output of a prolog does to an environment: returns what is to be printed.
std::string take_prolog_output(const std::string& text, Environment& environment);

}  // namespace gw::noded::step
