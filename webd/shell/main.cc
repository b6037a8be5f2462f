// gwebd: the web page of a cluster and its API. Everything comes from its arguments and the configuration; it stays in
// the foreground. Invariant: it never runs as root: what root alone may read is read first, then it becomes web.user.
#include <fmt/format.h>
#include <getopt.h>
#include <grp.h>
#include <pwd.h>
#include <spdlog/spdlog.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <fstream>
#include <sstream>

#include "auth/munge.h"
#include "auth/timed.h"
#include "base/text.h"
#include "cmds/request/read_names.h"
#include "io/listener.h"
#include "program/daemon_files.h"
#include "webd/shell/web_server.h"

namespace gw::webd {
namespace {

constexpr const char* kHelp =
    "Usage: gwebd [options]\n"
    "Serves the web page of a Gangway cluster and its API, as the section web: of the configuration says. Stays in "
    "the\n"
    "foreground. Started by root it becomes the user web.user.\n"
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
    if (c == 'V') fmt::print("gwebd {}\n", GANGWAY_VERSION);
    if (c == 'h') std::fputs(kHelp, stdout);
    if (c == 'V' || c == 'h') a.exit_code = 0;
    if (c == '?') a.exit_code = 2;
    if (a.exit_code >= 0) return a;
  }
  if (optind == argc) return a;
  fmt::print(stderr, "gwebd: error: {}: what is that? see gwebd --help\n", base::printable(argv[optind], 60));
  a.exit_code = 2;
  return a;
}

base::Result<std::string> text_of(const std::string& key, const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf()))
    return base::invalid(fmt::format("{}: {} cannot be read", key, path), "it is a PEM file that gwebd may read");
  return text.str();
}

base::Result<TlsTexts> tls_texts(const config::Config& c) {
  if (c.web_certificate.empty() != c.web_key.empty())
    return base::invalid("web.certificate and web.key go together", "give both, or neither for plain HTTP");
  if (c.web_certificate.empty()) return TlsTexts{};
  GW_TRY(certificate, text_of("web.certificate", c.web_certificate));
  GW_TRY(key, text_of("web.key", c.web_key));
  return TlsTexts{std::move(certificate), std::move(key)};
}

struct User {
  uint32_t uid = 0, gid = 0;
};

base::Result<User> web_user(const config::Config& c) {
  const bool is_number = c.web_user.find_first_not_of("0123456789") == std::string::npos;
  const passwd* entry = ::getpwnam(c.web_user.c_str());
  if (entry == nullptr && is_number && !c.web_user.empty()) {
    GW_TRY(uid, base::parse_int(c.web_user, 0, UINT32_MAX - 1, "web.user"));
    entry = ::getpwuid(static_cast<uid_t>(uid));
  }
  if (entry == nullptr)
    return base::invalid(fmt::format("web.user: this host has no user {}", base::printable(c.web_user)),
                         "useradd --system --no-create-home gwebd, or name another user");
  if (entry->pw_uid == 0)
    return base::invalid("web.user: gwebd does not run as root", "name a user without rights: gwebd, nobody");
  return User{entry->pw_uid, entry->pw_gid};
}

base::Status become(const User& user) {
  if (::geteuid() == user.uid) return {};
  if (::geteuid() != 0)
    return base::invalid(fmt::format("gwebd runs as uid {}, but web.user is uid {}", ::geteuid(), user.uid),
                         "start it as root or as that user, or change web.user");
  if (::setgroups(0, nullptr) != 0 || ::setresgid(user.gid, user.gid, user.gid) != 0 ||
      ::setresuid(user.uid, user.uid, user.uid) != 0)
    return base::fail(base::ErrorCode::kInternal, fmt::format("cannot become uid {}", user.uid));
  return {};
}

base::Status serve(const Arguments& a) {
  GW_TRY(config, config::load(a.config));
  if (config.web_listen.empty())
    return base::invalid("web.listen is empty: there is nothing to serve", "web: {listen: 127.0.0.1:6923}");
  GW_TRY(tls, tls_texts(config));
  GW_TRY(user, web_user(config));
  io::ListenOptions listening;
  listening.address = config.web_listen;
  GW_TRY(socket, io::Listener::make_socket(listening));  // which may take root's rights
  program::PidFile pid_file;
  GW_TRY_STATUS(pid_file.write(a.pid_file));
  GW_TRY_STATUS(program::set_up_log("gwebd", a.log_file, "info"));
  GW_TRY_STATUS(become(user));
  ::prctl(PR_SET_DUMPABLE, 0);  // the private key is in our memory
  std::signal(SIGPIPE, SIG_IGN);
  if (user.uid == config.controller_uid)
    spdlog::warn("web.user is the controller's: the page shows what private: hides from others");
  io::Loop loop;
  auth::TimedAuthenticator munge(std::make_shared<auth::MungeAuthenticator>(config.munge_socket), "munged");
  link::AuthPool pool(munge, loop);
  cmds::read_no_files();
  GW_TRY(server, WebServer::open(loop, pool, config, tls, std::move(socket)));
  for (const int signal : {SIGTERM, SIGINT}) loop.on_signal(signal, [&loop] { loop.stop(); });
  spdlog::info("gwebd {} of cluster {} serves at {}://{}/{}", GANGWAY_VERSION, config.cluster,
               tls.certificate.empty() ? "http" : "https", server->bound_address(),
               config.web_open_to_read ? "" : "; nobody may read there (web.open_to_read)");
  loop.run();
  spdlog::info("leaving");
  return {};
}

int run(int argc, char** argv) {
  const Arguments a = parse(argc, argv);
  if (a.exit_code >= 0) return a.exit_code;
  const base::Status done = serve(a);
  if (done) return 0;
  fmt::print(stderr, "gwebd: error: {}\n", done.error().text());
  if (!a.log_file.empty()) spdlog::error("{}", done.error().text());
  return 1;
}

}  // namespace
}  // namespace gw::webd

int main(int argc, char** argv) { return gw::webd::run(argc, argv); }
