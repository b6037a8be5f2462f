// Turning the task into the user's script, and saying why that failed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gw::noded::step {

/// The interpreter line of a script: "#!/usr/bin/env -S python3 -u" -> {"/usr/bin/env", "-S python3 -u"}, as the kernel
/// splits it. Both empty without one.
struct Interpreter {
  std::string path;
  std::string argument;
};
Interpreter interpreter_of(std::string_view script);

/// Replaces this process by the script whose file is words[0]; `text`: what that holds. Its process id is added to the
/// environment. Returns only on failure, with a sentence for the user.
std::string exec_script(std::vector<std::string> words, std::vector<std::string> environment, std::string_view text);
/// The sentence for errno of an execve of this script, with arguments and environment of so many bytes.
std::string explain_exec(std::string_view text, size_t bytes, int error);

}  // namespace gw::noded::step
