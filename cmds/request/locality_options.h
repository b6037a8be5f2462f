// Values of gbatch's options that say how the parts of a job lie to each other: levels of locality, switches, fitting,
// and what a task has of its GPUs.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "model/request.h"

namespace gw::cmds {

/// LEVEL[@WAIT][,...]
base::Status set_locality(model::Request& request, std::string_view value);
/// COUNT[@WAIT]
base::Status set_switches(model::Request& request, std::string_view value);
/// best, worst or spread.
base::Status set_fit(model::Request& request, std::string_view value);

/// Reads --gpu-bind in Slurm's words: [verbose,]none|closest|map_gpu:LIST|mask_gpu:LIST|per_task:N|single:N. Returns it
/// in small letters. Errors: another word, a bad number.
base::Result<std::string> parse_gpu_bind(std::string_view text);
/// Reads --gres-flags: words of Slurm, separated by commas. Returns them in small letters. Errors: another word, two
/// that contradict each other.
base::Result<std::string> parse_gres_flags(std::string_view text);

}  // namespace gw::cmds
