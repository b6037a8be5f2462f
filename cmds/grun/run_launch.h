// From a step that has its nodes to what each of them is to launch.
// Invariants: a file whose name depends on the task or the node is opened there, by the task's user; any other is this
// program's to open, and its bytes go through here. The order of tasks on a node is that of their places.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "attach/step/step_client.h"
#include "cmds/grun/run_options.h"
#include "wire/job.pb.h"

namespace gw::cmds {

/// Where this program is started, and what goes along with the tasks.
struct LaunchContext {
  std::vector<std::string> environment;  ///< NAME=value
  std::string work_dir;                  ///< Absolute.
  std::map<std::string, uint64_t> limits;
  uint32_t umask = 022;
  std::string user;
  uint32_t rows = 0, columns = 0;      ///< Of the terminal, as the step is launched.
  std::vector<std::string> preserved;  ///< Variables that stand above what tasks are told of their step.
  std::string address;                 ///< Of this host, for the tasks; empty: not known.
  bool slurm_texts = false;
  bool is_inside = false;  ///< A job that there is already: limits are those of the step.
};

/// The words of each task's command, by rank; or, with one entry, those of all.
using Commands = std::vector<std::vector<std::string>>;

/// A step that there is, and what was said of it.
struct StepToLaunch {
  const wire::Step& step;
  const RunOptions& options;
};
/// What the nodes of all steps are to launch as one: ranks go on from step to step. What is no matter of a step's size
/// is said by the options of the first. Errors: a task number in a redirection that is not there; a shepherd's key that
/// is none.
base::Result<std::vector<attach::NodePlan>> make_plans(const std::vector<StepToLaunch>& steps, const Commands& commands,
                                                       const LaunchContext& context);

/// The address of this host towards a node, "10.0.0.7"; empty if there is no way to it.
std::string own_address_towards(const std::string& node_address);

/// What -v says of it: the nodes with their CPUs, then a line for each node with its tasks.
std::vector<std::string> launch_lines(const std::vector<wire::Step>& steps, const std::vector<attach::NodePlan>& plans);

/// Is the file opened where the tasks are?
bool is_opened_there(const Redirect& redirect);
/// The name of a file that is opened here.
std::string local_path(const Redirect& redirect, const wire::Step& step, const RunOptions& options,
                       const LaunchContext& context);
/// Where standard error leads if nothing was said of it.
Redirect error_of(const RunOptions& options);
uint32_t task_count(const wire::Step& step);
uint32_t task_count(const std::vector<wire::Step>& steps);

}  // namespace gw::cmds
