// Runs the prolog and the epilog of the node.
#pragma once

#include <string>

#include "base/result.h"
#include "noded/core/facts.h"
#include "program/run_program.h"

namespace gw::noded {

/// The call of `program` below gstepd, which ends it and all that it started at the limit, and with this process.
program::ProgramCall node_program_call(const std::string& gstepd, const std::string& program, NodeProgram which,
                                       base::Duration limit);
/// Blocks until it has ended. Errors: its exit code, with the last line of what it printed, all of which is in the log.
base::Status run_node_program(const program::ProgramCall& call);

}  // namespace gw::noded
