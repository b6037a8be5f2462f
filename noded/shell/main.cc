// gnoded: the node daemon. Options, log, pid file; the rest is Daemon.
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <fstream>

#include "noded/shell/daemon.h"
#include "noded/shell/options.h"
#include "noded/shell/setup.h"
#include "noded/shell/state_folder.h"

namespace {

using namespace gw;

int complain(const base::Error& error, int code) {
  std::fprintf(stderr, "gnoded: error: %s\n", error.text().c_str());
  return code;
}

base::Status set_up_log(const noded::DaemonOptions& options) {
  try {
    auto log = options.log_file.empty() ? spdlog::stderr_logger_mt("gnoded")
                                        : spdlog::basic_logger_mt("gnoded", options.log_file);
    log->set_pattern("%Y-%m-%dT%H:%M:%S.%e %l: %v");
    log->flush_on(spdlog::level::info);
    log->set_level(spdlog::level::from_str(options.log_level));
    spdlog::set_default_logger(log);
  } catch (const spdlog::spdlog_ex& e) {
    return base::fail(base::ErrorCode::kUnavailable, "cannot log to " + options.log_file + ": " + e.what());
  }
  return {};
}

base::Status write_pid_file(const std::string& path) {
  if (path.empty()) return {};
  std::ofstream file(path, std::ios::trunc);
  file << ::getpid() << '\n';
  file.close();
  if (!file) return base::fail_errno("cannot write the pid file " + path, errno);
  return {};
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
  if (const base::Status logging = set_up_log(options); !logging) return complain(logging.error(), 1);
  if (const base::Status written = write_pid_file(options.pid_file); !written) return complain(written.error(), 1);
  spdlog::info("gnoded {} for node {} starts, pid {}", GANGWAY_VERSION, setup->node.name, ::getpid());
  for (const std::string& note : setup->notes) spdlog::info("{}", note);
  if (!setup->warning.empty()) spdlog::warn("{}", setup->warning);
  {
    noded::Daemon daemon(std::move(*setup), std::move(*folder));
    daemon.run();
  }
  if (!options.pid_file.empty()) ::unlink(options.pid_file.c_str());
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
