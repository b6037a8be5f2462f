// Connections over real sockets, with MUNGE.
#include <fmt/format.h>
#include <sys/random.h>
#include <time.h>

#include <cstdlib>

#include "auth/munge.h"
#include "auth/timed.h"
#include "base/text.h"
#include "client/conn/connection.h"
#include "client/conn/private_cluster.h"
#include "link/blocking_link.h"

namespace gw::client {
namespace {

constexpr int64_t kDefaultTimeoutSeconds = 60;

class LinkChannel final : public Channel {
 public:
  explicit LinkChannel(link::BlockingLink opened) : link_(std::move(opened)) {}
  base::Status send(std::string_view message, base::Duration patience) override {
    return link_.send(message, link::Deadline::in(patience));
  }
  base::Result<std::string> receive(base::Duration patience) override {
    return link_.receive(link::Deadline::in(patience));
  }

 private:
  link::BlockingLink link_;
};

base::Duration monotonic_now() {
  timespec t{};
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  return base::seconds(t.tv_sec) + base::microseconds(t.tv_nsec / 1000);
}

void sleep_for(base::Duration d) {
  const timespec t{d.us / 1'000'000, (d.us % 1'000'000) * 1000};
  ::nanosleep(&t, nullptr);
}

base::Result<base::Duration> timeout_from_environment() {
  const char* text = std::getenv("GANGWAY_TIMEOUT");
  if (text == nullptr || *text == '\0') return base::seconds(kDefaultTimeoutSeconds);
  GW_TRY(seconds, base::parse_int(text, 0, 1'000'000, "GANGWAY_TIMEOUT"));
  return base::seconds(seconds);
}

}  // namespace

Patience real_patience() { return {monotonic_now, sleep_for}; }

base::Result<config::Config> load_config() {
  const std::string path = config::default_path();
  auto config = config::load_client_part(path);
  if (!config) return tl::unexpected(explain_no_config(std::move(config.error()), path));
  return config;
}

base::Result<Connection> open_connection(const Program& program, const config::Config& config) {
  GW_TRY(timeout, timeout_from_environment());
  return open_connection(program, config, timeout);
}

Connection open_connection(const Program& program, const config::Config& config, base::Duration timeout) {
  link::ConnectOptions options;
  const bool is_v6 = config.controller_host.find(':') != std::string::npos;
  options.address =
      fmt::format("{}{}{}:{}", is_v6 ? "[" : "", config.controller_host, is_v6 ? "]" : "", config.controller_port);
  options.receiver = config.cluster + "/gctld";
  options.receiver_uid = config.controller_uid;
  const std::string where = options.address;
  auto munge = std::make_shared<auth::TimedAuthenticator>(
      std::make_shared<auth::MungeAuthenticator>(config.munge_socket),
      config.munge_socket.empty() ? "munged" : "munged on " + config.munge_socket);
  Dialer dialer = [options, munge](base::Duration patience) -> base::Result<std::unique_ptr<Channel>> {
    GW_TRY(opened, link::BlockingLink::connect(options, *munge, link::Deadline::in(patience)));
    return std::make_unique<LinkChannel>(std::move(opened));
  };
  return Connection(program, where, timeout, std::move(dialer), real_patience());
}

base::Result<Connection> connect(const Program& program) {
  GW_TRY(config, load_config());
  return open_connection(program, config);
}

std::string make_uuid() {
  unsigned char b[16] = {};
  size_t filled = 0;
  while (filled < sizeof b) {
    const ssize_t n = ::getrandom(b + filled, sizeof b - filled, 0);
    if (n > 0) filled += static_cast<size_t>(n);
  }
  b[6] = static_cast<unsigned char>((b[6] & 0x0F) | 0x40);
  b[8] = static_cast<unsigned char>((b[8] & 0x3F) | 0x80);
  std::string text;
  for (size_t i = 0; i < sizeof b; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", b[i]);
  }
  return text;
}

}  // namespace gw::client
