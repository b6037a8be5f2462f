// The command line of a mail, from what the controller asks for and what the configuration says. Pure.
// Invariant: whatever the controller says, the program is the configuration's, recipients stand behind `--` and are
// neither options nor files nor commands, and no variable but those of a job is set.
#pragma once

#include "base/result.h"
#include "config/config.h"
#include "program/run_program.h"
#include "wire/script.pb.h"

namespace gw::ctld {

/// Errors: no program is configured; a recipient, a subject or a variable that no controller would send.
base::Result<program::ProgramCall> mail_call(const wire::ScriptMail& mail, const config::Config& config);

}  // namespace gw::ctld
