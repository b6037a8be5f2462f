// gcontrol show step.
#pragma once

#include "cmds/gcontrol/control_verbs.h"
#include "cmds/shared/step_list.h"

namespace gw::cmds {

/// "7", "7.0", "7.batch", or "all", as nothing is.
int show_steps(const client::Program& program, const ControlOptions& o, Args words);

/// Why not all that was named is shown. Rows: what is.
base::Status check_shown(const StepChoice& choice, const StepReplies& replies,
                         const std::vector<client::StepRow>& rows);

}  // namespace gw::cmds
