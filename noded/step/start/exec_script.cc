// Turning the task into the user's script.
#include "noded/step/start/exec_script.h"

#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <vector>

#include "base/text.h"

namespace gw::noded::step {
namespace {

constexpr size_t kMaxInterpreterLine = 254;  // the kernel reads no more

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> list;
  list.reserve(words.size() + 1);
  for (std::string& word : words) list.push_back(word.data());
  list.push_back(nullptr);
  return list;
}

// State folders often lie below /run, which many systems mount noexec: the kernel then refuses the script, though its
// interpreter need only read it.
void exec_interpreter(std::string_view text, const std::vector<std::string>& script_words, char** environment) {
  struct statvfs mount {};
  const Interpreter interpreter = interpreter_of(text);
  if (interpreter.path.empty() || ::statvfs(script_words[0].c_str(), &mount) != 0 || !(mount.f_flag & ST_NOEXEC))
    return;
  std::vector<std::string> words{interpreter.path};
  if (!interpreter.argument.empty()) words.push_back(interpreter.argument);
  words.insert(words.end(), script_words.begin(), script_words.end());
  ::execve(words[0].c_str(), pointers(words).data(), environment);
}

}  // namespace

Interpreter interpreter_of(std::string_view script) {
  if (!script.starts_with("#!")) return {};
  std::string_view line = script.substr(2, script.substr(0, kMaxInterpreterLine).find('\n') - 2);
  line = line.substr(0, kMaxInterpreterLine);
  const auto strip = [](std::string_view text) {
    const size_t first = text.find_first_not_of(" \t");
    if (first == std::string_view::npos) return std::string_view();
    return text.substr(first, text.find_last_not_of(" \t") - first + 1);
  };
  line = strip(line);
  const size_t blank = line.find_first_of(" \t");
  Interpreter found{std::string(line.substr(0, blank)), {}};
  if (blank != std::string_view::npos) found.argument = strip(line.substr(blank));
  return found;
}

std::string explain_exec(std::string_view text, size_t bytes, int error) {
  const std::string reason = std::generic_category().message(error);
  const Interpreter interpreter = interpreter_of(text);
  if (error == ENOEXEC || interpreter.path.empty())
    return "script cannot be executed: " + reason + " (its first line must be #! and an interpreter)";
  if (error == E2BIG)
    return "arguments and environment of the script are too long: " + std::to_string(bytes) + " bytes";
  std::string why = "script interpreter " + base::printable(interpreter.path) + ": " + reason;
  if (interpreter.path.ends_with('\r')) why += " (the script has Windows line ends)";
  return why;
}

std::string exec_script(std::vector<std::string> words, std::vector<std::string> environment, std::string_view text) {
  size_t bytes = 0;
  for (const auto& word : environment) bytes += word.size() + 1;
  for (const auto& word : words) bytes += word.size() + 1;
  for (const char* name : {"SLURM_TASK_PID=", "GANGWAY_TASK_PID="})
    environment.push_back(name + std::to_string(::getpid()));
  const std::vector<char*> env = pointers(environment);
  ::execve(words[0].c_str(), pointers(words).data(), const_cast<char**>(env.data()));
  const int error = errno;
  if (error == EACCES) exec_interpreter(text, words, const_cast<char**>(env.data()));
  return explain_exec(text, bytes, error);
}

}  // namespace gw::noded::step
