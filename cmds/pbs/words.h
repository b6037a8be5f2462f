// How the words of PBS commands are read: single letters, as getopt has them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cmds/pbs/refusal.h"
#include "cmds/shared/job_ids.h"

namespace gw::cmds::pbs {

/// Takes a letter and its value. Errors: a bad value.
using TakeLetter = std::function<base::Status(char letter, const std::string& value)>;

/// Reads the options; the operands are what is left. `letters`: "af:x", with a colon behind those with a value, as
/// getopt(3) has it. Errors: another letter, a value that is missing.
base::Result<std::vector<std::string>> read_letters(Args args, std::string_view letters, const TakeLetter& take);

/// --version and --help, which all of them have: the exit code, if one of them is there.
std::optional<int> answer_common(const queue::Caller& caller, Args args, std::string_view usage);

/// -t of Torque: these tasks of each array that is named.
void narrow(JobIds& ids, const std::string& tasks);
/// Reads ids; false: said, with the code in `code`, and the others are read.
JobIds read_ids(const queue::Caller& caller, const std::vector<std::string>& words, const std::string& cluster,
                int& code);

}  // namespace gw::cmds::pbs
