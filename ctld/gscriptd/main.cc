// gscriptd: runs programs for the controller, which itself may gain no privileges: a mail program needs those of the
// system's mail. Everything comes from its arguments and the configuration; it stays in the foreground.
#include <fcntl.h>
#include <fmt/format.h>
#include <getopt.h>
#include <spdlog/spdlog.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

#include "base/text.h"
#include "ctld/gscriptd/script_server.h"
#include "program/daemon_files.h"

namespace gw::ctld {
namespace {

constexpr const char* kHelp =
    "Usage: gscriptd [options]\n"
    "Runs programs for the controller of a Gangway cluster (mail, submissions), beside it and as its user. Stays in "
    "the "
    "foreground;\n"
    "SIGHUP reads the configuration again.\n"
    "  --config FILE     configuration (default $GANGWAY_CONF, then /etc/gangway/gangway.yaml)\n"
    "  --pid-file FILE   write the process id there\n"
    "  --log-file FILE   append the log there (default: standard error)\n"
    "  --version, --help\n"
    "Exit codes: 0 left on SIGTERM or SIGINT, 1 could not start, 2 wrong use.\n";

struct Arguments {
  std::string config = config::default_path();
  std::string pid_file, log_file;
  int exit_code = -1;  ///< Set: leave at once.
};

const option kOptions[] = {{"config", required_argument, nullptr, 'c'},   {"pid-file", required_argument, nullptr, 'p'},
                           {"log-file", required_argument, nullptr, 'l'}, {"version", no_argument, nullptr, 'V'},
                           {"help", no_argument, nullptr, 'h'},           {nullptr, 0, nullptr, 0}};

Arguments parse(int argc, char** argv) {
  Arguments a;
  int c;
  while ((c = getopt_long(argc, argv, "", kOptions, nullptr)) != -1) {
    if (c == 'c') a.config = optarg;
    if (c == 'p') a.pid_file = optarg;
    if (c == 'l') a.log_file = optarg;
    if (c == 'V') fmt::print("gscriptd {}\n", GANGWAY_VERSION);
    if (c == 'h') std::fputs(kHelp, stdout);
    if (c == 'V' || c == 'h') a.exit_code = 0;
    if (c == '?') a.exit_code = 2;
    if (a.exit_code >= 0) return a;
  }
  if (optind == argc) return a;
  fmt::print(stderr, "gscriptd: error: {}: what is that? see gscriptd --help\n", base::printable(argv[optind], 60));
  a.exit_code = 2;
  return a;
}

base::Status serve(const Arguments& a) {
  ::prctl(PR_SET_DUMPABLE, 0);  // other processes of its user do not look into it
  GW_TRY(config, config::load(a.config));
  if (geteuid() != config.controller_uid)
    return base::invalid(fmt::format("gscriptd runs as uid {}, but controller.user is {} (uid {})", geteuid(),
                                     config.controller_user, config.controller_uid),
                         "start gscriptd as the controller's user");
  GW_TRY_STATUS(program::set_up_log("gscriptd", a.log_file, "info"));
  if (!a.log_file.empty()) {  // what programs write to their standard error goes there, too
    const int log = ::open(a.log_file.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
    if (log >= 0) ::dup2(log, STDERR_FILENO);
    if (log > STDERR_FILENO) ::close(log);
  }
  umask(077);
  const std::string socket = config::script_socket(config), program = config.mail_program;
  ScriptServer server(std::move(config));
  GW_TRY_STATUS(server.listen());
  {
    program::PidFile pid_file;
    GW_TRY_STATUS(pid_file.write(a.pid_file));
    spdlog::info("gscriptd {} serves at {}; mail by {}", GANGWAY_VERSION, socket, program.empty() ? "none" : program);
    server.run();
  }
  spdlog::info("leaving; programs that run continue");
  spdlog::shutdown();
  ::_exit(0);  // without waiting for them
}

int run(int argc, char** argv) {
  const Arguments a = parse(argc, argv);
  if (a.exit_code >= 0) return a.exit_code;
  const base::Status done = serve(a);
  if (done) return 0;
  fmt::print(stderr, "gscriptd: error: {}\n", done.error().text());
  if (!a.log_file.empty()) spdlog::error("{}", done.error().text());
  return 1;
}

}  // namespace
}  // namespace gw::ctld

int main(int argc, char** argv) { return gw::ctld::run(argc, argv); }
