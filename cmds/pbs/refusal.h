// What PBS says where something is refused, and the code it leaves with: its number of the error, modulo 256. Programs
// look for these words; what Gangway has to say stands on the line below.
#pragma once

#include <string>
#include <string_view>

#include "cmds/queue/system.h"

namespace gw::cmds::pbs {

enum : int { kExitUsage = 2, kExitUnknownId = 153, kExitFinished = 35 };

/// Prints it; the code. `subject`: the job that it is about, or empty.
int refuse(const queue::Caller& caller, const base::Error& error, std::string_view subject = {});
int refuse_unknown(const queue::Caller& caller, std::string_view id);
/// A job that has ended, for what is about jobs that have not.
int refuse_finished(const queue::Caller& caller, std::string_view id);
/// "qstat: TEXT", and how the command is called.
int refuse_usage(const queue::Caller& caller, const base::Error& error, std::string_view usage);

}  // namespace gw::cmds::pbs
