// Turning a task into the program of its user.
#include "noded/step/exec_program.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "noded/step/exec_script.h"
#include "noded/step/proc/fd.h"

namespace gw::noded::step {
namespace {

constexpr const char* kDefaultPath = "/usr/local/bin:/usr/bin:/bin";
constexpr const char* kShell = "/bin/sh";

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> list;
  list.reserve(words.size() + 1);
  for (std::string& word : words) list.push_back(word.data());
  list.push_back(nullptr);
  return list;
}

std::string first_bytes(const std::string& file) {
  std::string bytes(256, '\0');
  const proc::Fd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  const ssize_t n = fd ? ::read(fd.get(), bytes.data(), bytes.size()) : 0;
  bytes.resize(n > 0 ? static_cast<size_t>(n) : 0);
  return bytes;
}

ExecFailure explain(const std::string& name, const std::string& file, int error) {
  std::string text = base::printable(name) + ": " + std::generic_category().message(error);
  const bool is_there = ::access(file.c_str(), F_OK) == 0;
  if (error == ENOENT && is_there) {  // the kernel means its interpreter
    const std::string interpreter = interpreter_of(first_bytes(file)).path;
    text = base::printable(name) + ": interpreter " + base::printable(interpreter) + ": " +
           std::generic_category().message(error);
  }
  return {error == ENOENT && !is_there ? kNotFoundCode : kNotExecutableCode, text, error};
}

/// Where a program may lie, in the order in which it is looked for.
std::vector<std::string> places_of(const std::string& name, const std::string& path) {
  if (name.find('/') != std::string::npos) return {name};
  std::vector<std::string> files;
  for (const std::string& folder : base::split(path.empty() ? kDefaultPath : path, ':'))
    files.push_back((folder.empty() ? "." : folder) + "/" + name);
  return files;
}

class Exec {
 public:
  Exec(std::vector<std::string> words, std::vector<std::string>& environment)
      : words_(std::move(words)), environment_(environment), env_(pointers(environment_)) {}

  /// The errno of trying this file.
  int attempt(const std::string& file) {
    ::execve(file.c_str(), pointers(words_).data(), env_.data());
    const int error = errno;
    if (error == ENOEXEC && is_text(file)) run_by_shell(file);
    return error;
  }
  ExecFailure explain_it(const std::string& file, int error) const {
    ExecFailure failure = explain(words_.front(), file, error);
    if (error == E2BIG) failure.text += " (arguments and environment are " + std::to_string(size()) + " bytes)";
    return failure;
  }

 private:
  std::vector<std::string> words_;
  std::vector<std::string>& environment_;
  std::vector<char*> env_;

  // A program of another machine is no text, and the shell would only be confused by it.
  static bool is_text(const std::string& file) { return first_bytes(file).find('\0') == std::string::npos; }
  void run_by_shell(const std::string& file) {
    std::vector<std::string> words = words_;
    words.front() = file;
    words.insert(words.begin(), kShell);
    ::execve(kShell, pointers(words).data(), env_.data());
  }
  size_t size() const {
    size_t bytes = 0;
    for (const auto& word : words_) bytes += word.size() + 1;
    for (const auto& word : environment_) bytes += word.size() + 1;
    return bytes;
  }
};

bool means_elsewhere(int error) {
  return error == ENOENT || error == ENOTDIR || error == EACCES || error == ELOOP || error == ENAMETOOLONG ||
         error == ESTALE || error == ENODEV || error == ETIMEDOUT;
}

}  // namespace

std::optional<ExecFailure> foresee_failure(const std::string& name, const std::string& path) {
  int error = ENOENT;  // one that is there, but not for us, is the better answer
  std::string found;
  for (const std::string& file : places_of(name, path)) {
    struct stat status {};
    const bool may = ::access(file.c_str(), X_OK) == 0 && ::stat(file.c_str(), &status) == 0;
    if (may && !S_ISDIR(status.st_mode)) return std::nullopt;
    const int why = may ? EACCES : errno;
    if (!means_elsewhere(why)) return std::nullopt;  // it is for execve to say
    if (error == ENOENT) std::tie(error, found) = std::pair(why, file);
  }
  return explain(name, found, error);
}

ExecFailure exec_program(std::vector<std::string> words, std::string path, std::vector<std::string>& environment) {
  const std::string name = words.front();
  Exec exec(std::move(words), environment);
  const std::vector<std::string> files = places_of(name, path);
  if (name.find('/') != std::string::npos) return exec.explain_it(name, exec.attempt(name));
  std::string denied;  // one that is there, but not for us, is the better answer
  for (const std::string& file : files) {
    const int error = exec.attempt(file);
    if (!means_elsewhere(error) || (error == ENOENT && ::access(file.c_str(), F_OK) == 0))
      return exec.explain_it(file, error);
    if (error == EACCES && denied.empty()) denied = file;
  }
  return denied.empty() ? exec.explain_it("", ENOENT) : exec.explain_it(denied, EACCES);
}

}  // namespace gw::noded::step
