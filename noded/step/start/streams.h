// Standard input, output and error of a task, opened as the user.
// Invariant: called only after become_user(); the files open afterwards are descriptors 0, 1 and 2.
#pragma once

#include <string>

#include "base/result.h"
#include "noded/step/proc/owned_fd.h"
#include "wire/step.pb.h"

namespace gw::noded::step {

/// Opens the three and puts them in place. Missing folders of outputs are made (as the user, so with his rights). An
/// output that is a FIFO without a reader, a folder, or not permitted is an error: "output path /x/y: Permission
/// denied".
base::Status open_streams(const wire::StepSpec& spec);
/// The parts of it.
base::Result<proc::OwnedFd> open_input(const std::string& path);
base::Result<proc::OwnedFd> open_output(const std::string& path, bool append);
/// Makes `fd` the standard stream `target`.
base::Status place_stream(int fd, int target);

}  // namespace gw::noded::step
