// How the words of Grid Engine's commands are read, and what is said where something does not fit.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cmds/queue/ids.h"
#include "cmds/queue/system.h"

namespace gw::cmds::sge {

/// An option, without its dash, and whether a value follows.
struct Word {
  std::string_view name;
  bool has_value = false;
};
/// Errors: a bad value.
using TakeWord = std::function<base::Status(const std::string& name, const std::string& value)>;
/// The operands. Errors: another option, a value that is missing.
base::Result<std::vector<std::string>> read_words(Args args, std::span<const Word> known, const TakeWord& take);

/// -help and -version, which all of them have: the exit code, if one of them is there.
std::optional<int> answer_common(const queue::Caller& caller, Args args, std::string_view usage);
/// "error: ERROR! TEXT", and how the command is called.
int refuse_usage(const queue::Caller& caller, const base::Error& error, std::string_view usage);
int refuse(const queue::Caller& caller, const base::Error& error);
/// Each fault of a request as `denied: job "7" does not exist` or the like; 1 if there are any.
int report(const queue::Caller& caller, const google::protobuf::RepeatedPtrField<wire::JobFault>& faults);
/// Numbers, and names of the user's own jobs; with `tasks` those of each array. Errors: of the controller.
base::Result<JobIds> find_ids(const queue::Caller& caller, const std::vector<std::string>& words,
                              const std::string& tasks, int& code);

}  // namespace gw::cmds::sge
