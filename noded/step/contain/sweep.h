// Ending a step whose shepherd and launcher are both gone, and naming what this machine can contain.
#pragma once

#include <string>

#include "base/result.h"
#include "wire/step.pb.h"

namespace gw::noded::step {

/// Kills all processes in the groups of a step and removes the groups. Blocks until it is done, at most `budget_us`.
/// Returns what is left ("pid 7 (x) in state D ... survives SIGKILL"), or "". Kind `none` has no groups: there the
/// launcher ends the orphans.
std::string sweep_groups(const std::string& plugin_dir, const wire::Containment& containment, int64_t budget_us);

/// The reports of every kind and the kind that "auto" takes, as lines for people or as JSON (`gstepd --probe --json`).
std::string probe_text(const std::string& plugin_dir);
std::string probe_json(const std::string& plugin_dir);

}  // namespace gw::noded::step
