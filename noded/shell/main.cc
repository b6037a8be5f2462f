// gnoded: the node daemon. Options, log, pid file; the rest is Daemon.
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <exception>

#include "noded/shell/daemon.h"
#include "noded/shell/options.h"
#include "noded/shell/setup.h"
#include "noded/shell/state_folder.h"
#include "program/daemon_files.h"

namespace {

using namespace gw;

int complain(const base::Error& error, int code) {
  std::fprintf(stderr, "gnoded: error: %s\n", error.text().c_str());
  return code;
}

int check(const noded::Setup& setup) {
  std::printf("node %s of cluster %s\n", setup.node.name.c_str(), setup.node.cluster.c_str());
  for (const std::string& note : setup.notes) std::printf("%s\n", note.c_str());
  if (!setup.warning.empty()) std::printf("warning: %s\n", setup.warning.c_str());
  return 0;
}

int serve(const noded::DaemonOptions& options) {
  auto setup = noded::make_setup(options);
  if (!setup) return complain(setup.error(), 1);
  if (options.check) return check(*setup);
  auto folder = noded::StateFolder::open(setup->state_dir);
  if (!folder) return complain(folder.error(), 1);
  program::PidFile pid_file;
  base::Status done = program::set_up_log("gnoded", options.log_file, options.log_level);
  if (done) done = pid_file.write(options.pid_file);
  if (!done) return complain(done.error(), 1);
  spdlog::info("gnoded {} for node {} starts, pid {}", GANGWAY_VERSION, setup->node.name, ::getpid());
  for (const std::string& note : setup->notes) spdlog::info("{}", note);
  if (!setup->warning.empty()) spdlog::warn("{}", setup->warning);
  noded::Daemon(std::move(*setup), std::move(*folder)).run();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  ::umask(022);
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGHUP, SIG_IGN);  // a closing terminal ends no node
  const auto options = noded::parse_options({argv + 1, argv + argc});
  if (!options) return complain(options.error(), 2);
  if (options->help) return std::printf("%s", noded::usage().c_str()) < 0;
  if (options->version) return std::printf("gangway %s\n", GANGWAY_VERSION) < 0;
  try {
    return serve(*options);
  } catch (const std::exception& e) {  // of libraries, where no better place knew
    return complain({base::ErrorCode::kInternal, e.what(), {}}, 1);
  }
}
