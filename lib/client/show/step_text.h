// A step as `scontrol show step` prints it: Key=Value words in Slurm's layout.
// Invariant: values from users are printable: no value breaks a line.
#pragma once

#include <string>

#include "client/show/job_text.h"
#include "client/show/step_view.h"

namespace gw::client {

/// Ends with a blank line (one newline with one_line).
std::string show_step_text(const StepRow& row, ShowStyle style);

}  // namespace gw::client
