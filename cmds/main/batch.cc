// gbatch as a program of its own, linked statically: it is started for every job, and a third of a command's start is
// the work of the dynamic linker. What a static program cannot do, it leaves to gangway-commands beside it.
// Invariant: until that is decided nothing is read from stdin and nothing is written.
#include <limits.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "client/conn/files_only.h"
#include "cmds/shared/commands.h"

namespace gw::cmds {
namespace {

/// Continues as gangway-commands; returns only if that cannot be started, with the reason printed.
int run_full_program(const client::Program& program, char** argv) {
  char path[PATH_MAX] = "";
  const ssize_t length = ::readlink("/proc/self/exe", path, sizeof path - 1);
  std::string full(path, length > 0 ? static_cast<size_t>(length) : 0);
  full = full.substr(0, full.rfind('/') + 1) + "gangway-commands";
  ::execv(full.c_str(), argv);
  return failed(program, base::fail_errno("cannot start " + full, errno, "it belongs beside gangway-batch").value());
}

}  // namespace
}  // namespace gw::cmds

int main(int argc, char** argv) {
  if (argc < 1) return gw::client::kExitFailed;
  const gw::client::Program program = gw::client::program_from(argv[0]);
  if (!gw::client::is_controller_known_by_files()) return gw::cmds::run_full_program(program, argv);
  gw::client::hold_standard_streams();
  std::signal(SIGPIPE, SIG_IGN);
  const std::vector<std::string> words(argv + 1, argv + argc);
  return gw::cmds::run_gbatch(program, words);
}
