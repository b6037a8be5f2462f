// Turning a task into the program of its user.
#include "noded/step/start/exec_program.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <system_error>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "noded/step/proc/owned_fd.h"
#include "noded/step/start/exec_script.h"

namespace gw::noded::step {
namespace {

constexpr const char* kDefaultPath = "/usr/local/bin:/usr/bin:/bin";
constexpr const char* kShell = "/bin/sh";
constexpr size_t kPidDigits = 12;

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> list;
  list.reserve(words.size() + 1);
  for (std::string& word : words) list.push_back(word.data());
  list.push_back(nullptr);
  return list;
}

std::string first_bytes(const std::string& file) {
  std::string bytes(256, '\0');
  const proc::OwnedFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  const ssize_t n = fd ? ::read(fd.get(), bytes.data(), bytes.size()) : 0;
  bytes.resize(n > 0 ? static_cast<size_t>(n) : 0);
  return bytes;
}

ExecFailure why_not(const std::string& name, const std::string& file, int error) {
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

// A program of another machine is no text, and the shell would only be confused by it.
bool is_text(const std::string& file) {
  char bytes[256];
  const int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  const ssize_t n = fd < 0 ? 0 : ::read(fd, bytes, sizeof bytes);
  if (fd >= 0) ::close(fd);
  return n <= 0 || std::memchr(bytes, 0, static_cast<size_t>(n)) == nullptr;
}

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
    if (may && !S_ISDIR(status.st_mode)) {
      const std::string interpreter = interpreter_of(first_bytes(file)).path;
      if (interpreter.empty() || ::access(interpreter.c_str(), X_OK) == 0) return std::nullopt;
      return why_not(name, file, errno);
    }
    const int why = may ? EACCES : errno;
    if (!means_elsewhere(why)) return std::nullopt;  // it is for execve to say
    if (error == ENOENT) std::tie(error, found) = std::pair(why, file);
  }
  return why_not(name, found, error);
}

ProgramCall::ProgramCall(std::vector<std::string> words, const std::string& path, std::vector<std::string> environment)
    : words_(std::move(words)), files_(places_of(words_.front(), path)), environment_(std::move(environment)) {
  for (const std::string name : {"SLURM_TASK_PID=", "GANGWAY_TASK_PID="})
    environment_.push_back(name + std::string(kPidDigits, '0'));
  argv_ = pointers(words_);
  shell_argv_ = argv_;
  shell_argv_.insert(shell_argv_.begin(), const_cast<char*>(kShell));
  env_ = pointers(environment_);
}

void ProgramCall::call_itself(std::string name) {
  words_.front() = std::move(name);
  argv_.front() = words_.front().data();
}

void ProgramCall::set_pid(pid_t pid) {
  for (size_t i = environment_.size() - 2; i < environment_.size(); ++i) {
    char* const value = environment_[i].data() + environment_[i].size() - kPidDigits;
    *std::to_chars(value, value + kPidDigits - 1, pid).ptr = '\0';
  }
}

/// The errno of trying this file.
int ProgramCall::attempt(size_t file) {
  ::execve(files_[file].c_str(), argv_.data(), env_.data());
  const int error = errno;
  if (error == ENOEXEC && is_text(files_[file])) {
    shell_argv_[1] = files_[file].data();
    ::execve(kShell, shell_argv_.data(), env_.data());
  }
  return error;
}

ProgramCall::Failed ProgramCall::run() {
  Failed denied{files_.size(), ENOENT};  // one that is there, but not for us, is the better answer
  for (size_t i = 0; i < files_.size(); ++i) {
    const int error = attempt(i);
    const bool is_named = words_.front().find('/') != std::string::npos;
    if (is_named || !means_elsewhere(error)) return {i, error};
    if (error == ENOENT && ::access(files_[i].c_str(), F_OK) == 0) return {i, error};
    if (error == EACCES && denied.error != EACCES) denied = {i, error};
  }
  return denied;
}

ExecFailure ProgramCall::explain(const Failed& failed) const {
  const std::string file = failed.file < files_.size() ? files_[failed.file] : std::string();
  ExecFailure failure = why_not(words_.front(), file, failed.error);
  if (failed.error != E2BIG) return failure;
  size_t bytes = 0;
  for (const auto* list : {&words_, &environment_})
    for (const std::string& word : *list) bytes += word.size() + 1;
  failure.text += " (arguments and environment are " + std::to_string(bytes) + " bytes)";
  return failure;
}

}  // namespace gw::noded::step
