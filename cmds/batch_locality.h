// Options of gbatch that say how the parts of a job lie to each other: levels of locality, switches, segments, fitting,
// and what comes with a GPU.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "client/options.h"
#include "cmds/batch_options.h"

namespace gw::cmds {

/// Appends the options to the table; their handlers write into `options`.
void add_locality(std::vector<client::Option>& table, BatchOptions& options);

/// Reads --gpu-bind in Slurm's words: [verbose,]none|closest|map_gpu:LIST|mask_gpu:LIST|per_task:N|single:N. Returns it
/// in small letters. Errors: another word, a bad number.
base::Result<std::string> parse_gpu_bind(std::string_view text);
/// Reads --gres-flags: words of Slurm, separated by commas. Returns them in small letters. Errors: another word, two
/// that contradict each other.
base::Result<std::string> parse_gres_flags(std::string_view text);

}  // namespace gw::cmds
