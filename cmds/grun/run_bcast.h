// --bcast: the step's program is copied to its nodes before it starts, and run from there.
#pragma once

#include <string>
#include <vector>

#include "attach/step/step_options.h"
#include "cmds/grun/run_options.h"
#include "wire/job.pb.h"

namespace gw::cmds {

/// Where the program comes to lie, with %N for the name of a node, in the form of gbcast: an absolute path. `asked`: a
/// file, a folder with a slash behind it, or empty for `folder`; relative ones count from there.
std::string bcast_destination(const std::string& asked, const std::string& folder, const wire::Step& step);
/// The file of a program that is named as in a shell: a path, or looked for in PATH. Errors: not found.
base::Result<std::string> find_program(const std::string& name);
/// Each node runs its copy.
void run_copies(std::vector<attach::NodePlan>& plans, const std::string& destination);

}  // namespace gw::cmds
