// Command lines of a private cluster's daemons.
#include "cmds/gangway/dev/dev_daemons.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "base/text.h"
#include "cmds/gangway/dev/dev_programs.h"

namespace gw::cmds {
namespace {

using base::Result;
using base::Status;

constexpr size_t kKeyBytes = 128;
constexpr size_t kShownLines = 12;

Result<std::string> find_munged() {
  for (const char* path : {"/usr/sbin/munged", "/usr/bin/munged", "/usr/local/sbin/munged", "/usr/local/bin/munged"})
    if (access(path, X_OK) == 0) return std::string(path);
  return base::fail(base::ErrorCode::kNotFound, "munged is not installed", "install the package munge");
}

}  // namespace

Result<Program> munged_program(const DevLayout& layout) {
  GW_TRY(path, find_munged());
  const std::string name = "munged";
  return Program{name,
                 {path, "--foreground", "--socket=" + layout.munge_socket(), "--key-file=" + layout.munge_key(),
                  "--seed-file=" + layout.runtime + "/munged.seed", "--pid-file=" + layout.pid_of(name)},
                 layout.pid_of(name),
                 layout.log_of(name)};
}

Result<Program> head_program(const DevLayout& layout, const std::string& name) {
  GW_TRY(path, find_program(name));
  return Program{
      name,
      {path, "--config", layout.config(), "--pid-file", layout.pid_of(name), "--log-file", layout.log_of(name)},
      layout.pid_of(name),
      layout.output_of(name)};
}

Result<Program> gnoded_program(const DevLayout& layout, uint32_t index, const std::string& topology) {
  const std::string node = dev_node_name(index);
  const std::string name = "gnoded." + node;
  GW_TRY(path, find_program("gnoded"));
  return Program{name,
                 {path, "--config", layout.config(), "--node", node, "--topology", topology, "--state-dir",
                  layout.node_dir(node), "--bind", dev_node_address(index), "--commands", commands_folder(layout),
                  "--pid-file", layout.pid_of(name), "--log-file", layout.log_of(name)},
                 layout.pid_of(name),
                 layout.output_of(name)};
}

Status make_munge_key(const DevLayout& layout) {
  const std::string path = layout.munge_key();
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (fd < 0 && errno == EEXIST) return {};
  if (fd < 0) return base::fail_errno("cannot make the key " + path, errno);
  std::array<char, kKeyBytes> key = {};
  ssize_t n = getrandom(key.data(), key.size(), 0);  // Never short up to 256 bytes.
  if (n > 0) n = write(fd, key.data(), key.size());
  const int error = errno;
  explicit_bzero(key.data(), key.size());
  close(fd);
  if (n != static_cast<ssize_t>(key.size())) return base::fail_errno("cannot write the key " + path, error);
  return {};
}

Result<pid_t> start_daemon(const DevLayout& layout, const Program& program) {
  std::ofstream record(layout.command_of(program.name), std::ios::binary | std::ios::trunc);
  for (const std::string& word : program.argv) record << word << '\0';
  record.close();
  if (!record) return base::fail_errno("cannot write " + layout.command_of(program.name), errno);
  return start_detached(program);
}

std::string recorded_command(const DevLayout& layout, const std::string& daemon) {
  std::ifstream in(layout.command_of(daemon), std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(in, word, '\0');) words.push_back(base::shell_quote(word));
  return base::join(words, " ");
}

base::Error daemon_failure(const DevLayout& layout, const std::string& daemon, const std::string& what) {
  base::Error error{base::ErrorCode::kUnavailable, daemon + " " + what, "see " + layout.log_of(daemon)};
  for (const std::string& path : {layout.output_of(daemon), layout.log_of(daemon)}) {
    const std::string tail = tail_of(path, kShownLines);
    if (!tail.empty()) error.what += "\n--- end of " + path + "\n" + tail;
  }
  if (error.what.find('\n') != std::string::npos) error.what += "\n---";
  return error;
}

}  // namespace gw::cmds
