// The fields of gqueue --steps: letters of -o, names of -O, and its JSON. Letters and headers as squeue --steps has
// them.
#pragma once

#include <string>
#include <vector>

#include "client/show/format.h"
#include "client/show/step_view.h"

namespace gw::client {

/// Every field of steps.
const std::vector<Field<StepRow>>& step_fields();

inline constexpr std::string_view kStepFormat = "%.15i %.8j %.9P %.8u %#.9M %N";

/// {"schema_version", "steps": [{"step_id", "job_id", "step", ...}], "last_update"}: `step` is null of a batch script.
std::string steps_json(const std::vector<StepRow>& rows, base::Time now);

}  // namespace gw::client
