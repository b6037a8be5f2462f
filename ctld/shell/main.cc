// gctld: the controller. Everything comes from its arguments and the configuration; it stays in the foreground.
#include <fmt/format.h>
#include <getopt.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <cstdio>
#include <map>

#include "base/counted.h"
#include "base/text.h"
#include "ctld/shell/server.h"
#include "ctld/shell/settings.h"
#include "plugin/orders.h"
#include "program/daemon_files.h"
#include "sched/queue/order_check.h"

namespace gw::ctld {
namespace {

constexpr const char* kHelp =
    "Usage: gctld [options]\n"
    "The controller of a Gangway cluster. Stays in the foreground; SIGHUP reads the configuration again.\n"
    "  --config FILE     configuration (default $GANGWAY_CONF, then /etc/gangway/gangway.yaml)\n"
    "  --pid-file FILE   write the process id there\n"
    "  --log-file FILE   append the log there (default: standard error)\n"
    "  --check           check the configuration and its plug-ins, and leave\n"
    "  --verbose         log more\n"
    "  --version, --help\n"
    "Exit codes: 0 left on SIGTERM or SIGINT, 1 could not start, 2 wrong use.\n";

struct Arguments {
  std::string config = config::default_path();
  std::string pid_file, log_file;
  bool check = false, verbose = false;
  int exit_code = -1;  ///< Set: leave at once.
};

const option kOptions[] = {{"config", required_argument, nullptr, 'c'},   {"pid-file", required_argument, nullptr, 'p'},
                           {"log-file", required_argument, nullptr, 'l'}, {"check", no_argument, nullptr, 'C'},
                           {"verbose", no_argument, nullptr, 'v'},        {"version", no_argument, nullptr, 'V'},
                           {"help", no_argument, nullptr, 'h'},           {nullptr, 0, nullptr, 0}};

void complain(const char* word) {
  std::vector<std::string> known;
  for (const option* o = kOptions; o->name != nullptr; ++o) known.push_back(std::string("--") + o->name);
  const std::string hint = base::did_you_mean(word, known);
  fmt::print(stderr, "gctld: error: unknown or incomplete option {}{}; see gctld --help\n", word,
             hint.empty() ? "" : ": " + hint);
}

Arguments parse(int argc, char** argv) {
  Arguments a;
  opterr = 0;
  int c;
  while ((c = getopt_long(argc, argv, "", kOptions, nullptr)) != -1) {
    switch (c) {
      case 'c':
        a.config = optarg;
        break;
      case 'p':
        a.pid_file = optarg;
        break;
      case 'l':
        a.log_file = optarg;
        break;
      case 'C':
        a.check = true;
        break;
      case 'v':
        a.verbose = true;
        break;
      case 'V':
        fmt::print("gctld {}\n", GANGWAY_VERSION);
        a.exit_code = 0;
        return a;
      case 'h':
        std::fputs(kHelp, stdout);
        a.exit_code = 0;
        return a;
      default:
        complain(argv[optind - 1]);
        a.exit_code = 2;
        return a;
    }
  }
  if (optind < argc) {
    complain(argv[optind]);
    a.exit_code = 2;
  }
  return a;
}

base::Status check_user(const config::Config& c) {
  if (geteuid() == c.controller_uid) return {};
  return base::invalid(fmt::format("gctld runs as uid {}, but controller.user is {} (uid {})", geteuid(),
                                   c.controller_user, c.controller_uid),
                       "clients make credentials for that uid alone: start gctld as it, or change controller.user");
}

base::Status serve(const Arguments& a, config::Config c) {
  GW_TRY_STATUS(check_user(c));
  for (const std::string& warning : c.warnings) spdlog::warn("{}", warning);
  GW_TRY(server, Server::start(std::move(c)));
  program::PidFile pid_file;
  GW_TRY_STATUS(pid_file.write(a.pid_file));
  server->run();
  return {};
}

/// Says what its orders and its share policy do that they must not. Whether they do nothing of the kind.
bool are_plugins_good(const config::Config& c, const sched::Policy& policy) {
  std::map<std::string, const sched::Order*> orders = {{c.order, policy.order.get()}};
  for (const auto& [partition, chosen] : policy.pool_orders)
    orders.emplace(fmt::format("{} of partition {}", chosen.name, partition), chosen.order.get());
  for (const auto& [qos, chosen] : policy.qos_orders)
    orders.emplace(fmt::format("{} of QOS {}", chosen.name, qos), chosen.order.get());
  bool is_good = true;
  for (const auto& [name, order] : orders) {
    if (order == nullptr) continue;
    for (const std::string& fault : sched::check_order(*order)) {
      fmt::print(stderr, "gctld: error: order {}: {}\n", name, fault);
      is_good = false;
    }
  }
  if (policy.share.policy == nullptr) return is_good;
  for (const std::string& fault : sched::check_share(*policy.share.policy)) {
    fmt::print(stderr, "gctld: error: share policy {}: {}\n", policy.share.name, fault);
    is_good = false;
  }
  return is_good;
}

/// Of --check: the exit code.
int check(const Arguments& a, const config::Config& c) {
  for (const std::string& warning : c.warnings) fmt::print(stderr, "warning: {}\n", warning);
  const auto settings = settings_of(c);
  if (!settings) {
    fmt::print(stderr, "gctld: error: {}\n", settings.error().text());
    return 1;
  }
  if (!are_plugins_good(c, settings->policy)) return 1;
  fmt::print("order {} {}: {}\n", c.order, settings->policy.order_version, plugin::Orders(c.plugin_dirs).find(c.order));
  fmt::print("{}: {}, {}: good\n", a.config, base::counted(c.nodes.size(), "node"),
             base::counted(c.partitions.size(), "partition"));
  return 0;
}

int run(int argc, char** argv) {
  const Arguments a = parse(argc, argv);
  if (a.exit_code >= 0) return a.exit_code;
  auto c = config::load(a.config);
  if (!c) {
    fmt::print(stderr, "gctld: error: {}\n", c.error().text());
    return 1;
  }
  if (a.check) return check(a, *c);
  base::Status done = program::set_up_log("gctld", a.log_file, a.verbose ? "debug" : "info");
  if (done) done = serve(a, std::move(*c));
  if (done) return 0;
  fmt::print(stderr, "gctld: error: {}\n", done.error().text());
  if (!a.log_file.empty()) spdlog::error("{}", done.error().text());
  return 1;
}

}  // namespace
}  // namespace gw::ctld

int main(int argc, char** argv) { return gw::ctld::run(argc, argv); }
