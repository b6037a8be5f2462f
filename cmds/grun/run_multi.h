// The file of --multi-prog: lines "TASKS PROGRAM ARGUMENTS", which say what each task of a step runs.
// Invariant: after reading every task has exactly one program; errors name the line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace gw::cmds {

/// The words of each task's command, by rank. TASKS is a number, a list as "0,2-3", or "*" for all that no other line
/// names; %t stands for the task's number, %o for its place in the line's list. Words may be quoted; a line that ends
/// with a backslash continues in the next; # begins a comment.
/// Errors: a task that is not there, is named twice, or has no program; a line without a program; `label` names the
/// file.
base::Result<std::vector<std::vector<std::string>>> parse_multi_prog(std::string_view text, const std::string& label,
                                                                     uint32_t tasks);

}  // namespace gw::cmds
