// Turning the task into the user's script, and saying why that failed.
#pragma once

#include <string>
#include <string_view>

#include "wire/step.pb.h"

namespace gw::noded::step {

/// The interpreter line of a script: "#!/usr/bin/env -S python3 -u" -> {"/usr/bin/env", "-S python3 -u"}, as the kernel
/// splits it. Both empty without one.
struct Interpreter {
  std::string path;
  std::string argument;
};
Interpreter interpreter_of(std::string_view script);

/// Replaces this process. Returns only on failure, with a sentence for the user.
std::string exec_script(const wire::StepSpec& spec);
/// The sentence for errno of an execve of this script.
std::string explain_exec(const wire::StepSpec& spec, int error);

}  // namespace gw::noded::step
