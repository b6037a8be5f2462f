// gstepd: the launcher of a node (`--launcher --socket PATH`), from which each step's shepherd is forked; and the probe
// of what this machine can contain (`--probe [--json]`).
#include <fcntl.h>
#include <getopt.h>
#include <linux/close_range.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "noded/step/bcast/receiver.h"
#include "noded/step/contain/plugin_loader.h"
#include "noded/step/contain/sweep.h"
#include "noded/step/proc/files.h"
#include "noded/step/proc/supervise.h"
#include "noded/step/shepherd/step_launcher.h"
#include "noded/step/start/task_programs.h"
#include "wire/bcast.h"

namespace {

namespace step = gw::noded::step;

constexpr const char* kUsage =
    "usage: gstepd --launcher --socket PATH [--plugins DIR]\n"
    "       gstepd --probe [--json] [--plugins DIR]\n"
    "  --launcher      serve a node daemon: fork a shepherd for each job step\n"
    "  --socket PATH   unix socket to listen on (made with mode 0600)\n"
    "  --probe         say what each containment plug-in can do on this machine\n"
    "  --json          the probe as JSON\n"
    "  --plugins DIR   folder of contain_*.so (default: ../lib/gangway beside this program's folder)\n";

struct Options {
  bool launcher = false;
  bool probe = false;
  bool json = false;
  bool help = false;
  step::LauncherOptions launch;
};

bool read_options(int argc, char** argv, Options& options) {
  static const option kLong[] = {{"launcher", no_argument, nullptr, 'l'},
                                 {"socket", required_argument, nullptr, 's'},
                                 {"plugins", required_argument, nullptr, 'p'},
                                 {"probe", no_argument, nullptr, 'P'},
                                 {"json", no_argument, nullptr, 'j'},
                                 {"help", no_argument, nullptr, 'h'},
                                 {nullptr, 0, nullptr, 0}};
  int c = 0;
  while ((c = ::getopt_long(argc, argv, "h", kLong, nullptr)) != -1) {
    if (c == 'l') options.launcher = true;
    if (c == 's') options.launch.socket = optarg;
    if (c == 'p') options.launch.plugin_dir = optarg;
    if (c == 'P') options.probe = true;
    if (c == 'j') options.json = true;
    if (c == 'h') options.help = true;
    if (c == '?') return false;
  }
  return optind == argc;
}

// Own session, no inherited descriptors but stderr (the log), protected from the OOM killer: what it holds together
// must not go because the node daemon or a job did.
void detach() {
  ::setsid();
  ::close_range(STDERR_FILENO + 1, ~0U, 0);
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null >= 0) {
    ::dup2(null, STDIN_FILENO);
    ::dup2(null, STDOUT_FILENO);
    if (null > STDERR_FILENO) ::close(null);
  }
  if (::chdir("/") != 0) std::fprintf(stderr, "gstepd: cannot leave the present folder\n");
  if (::geteuid() == 0) static_cast<void>(step::proc::write_control("/proc/self/oom_score_adj", "-900"));
}

int serve(const step::LauncherOptions& options) {
  if (options.socket.empty() || options.socket.front() != '/') {
    std::fprintf(stderr, "gstepd: --launcher needs --socket with an absolute path\n");
    return 2;
  }
  detach();
  if (const auto served = step::run_launcher(options); !served) {
    std::fprintf(stderr, "gstepd: %s\n", served.error().text().c_str());
    return 1;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && argv[1] == std::string("--") + gw::wire::kReceiveFile) return step::receive_file(argc - 2, argv + 2);
  if (argc > 1 && argv[1] == std::string(step::proc::kSupervise)) return step::proc::supervise(argc - 2, argv + 2);
  if (argc > 1 && argv[1] == std::string(step::kBeginTask)) return step::begin_task(argc - 2, argv + 2);
  if (argc > 1 && argv[1] == std::string(step::kEndTask)) return step::end_task(argc - 2, argv + 2);
  Options options;
  if (!read_options(argc, argv, options) || (options.launcher == options.probe && !options.help)) {
    std::fprintf(stderr, "%s", kUsage);
    return 2;
  }
  if (options.help) {
    std::printf("%s", kUsage);
    return 0;
  }
  if (options.launch.plugin_dir.empty()) options.launch.plugin_dir = step::default_plugin_dir();
  if (options.launcher) return serve(options.launch);
  const std::string& dir = options.launch.plugin_dir;
  std::printf("%s", (options.json ? step::probe_json(dir) : step::probe_text(dir)).c_str());
  return 0;
}
