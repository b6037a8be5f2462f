// Makes gangway.yaml for a private cluster.
#include "cmds/gangway/dev/dev_config.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "base/text.h"
#include "config/merge.h"
#include "topo/generate.h"
#include "topo/load.h"

namespace gw::cmds {
namespace {

namespace fs = std::filesystem;
using base::Result;
using base::Status;

constexpr uint16_t kFirstPort = 20'000;  // Below Linux's default range for outgoing connections (32768 to 60999).
constexpr uint16_t kLastPort = 32'000;
constexpr int kPortTries = 200;

// A YAML scalar that holds any text.
std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

bool can_listen(uint16_t port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const bool ok = bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 && listen(fd, 1) == 0;
  close(fd);
  return ok;
}

std::string head_text(const DevLayout& layout, uint16_t port) {
  std::string text = "cluster: " + layout.cluster() + "\n";
  // Root gives up its rights; who has none to give up serves as himself.
  text += fmt::format("web: {{user: \"{}\"}}\n", ::geteuid() == 0 ? "nobody" : std::to_string(::geteuid()));
  text += fmt::format("controller:\n  host: 127.0.0.1\n  port: {}\n  listen: 127.0.0.1\n  user: {}\n", port,
                      geteuid());  // the number: commands need no user database then
  text += fmt::format("  state_dir: {}\n  log_dir: {}\n  run_dir: {}\n", quoted(layout.state_dir()),
                      quoted(layout.log_dir()), quoted(layout.runtime));
  text += fmt::format("auth:\n  munge_socket: {}\n", quoted(layout.munge_socket()));
  text += fmt::format("node_daemon:\n  spool_dir: {}\n", quoted(layout.runtime + "/spool"));
  text += fmt::format("jobs:\n  allow_root_jobs: {}\n", geteuid() == 0);
  return text;
}

std::string nodes_text(const DevOptions& options) {
  std::string text = "nodes:\n";
  for (uint32_t i = 0; i < options.nodes; ++i) {
    text += fmt::format("  - {{name: {}, address: {}, topology: {}}}\n", dev_node_name(i), dev_node_address(i),
                        quoted(options.topologies[i % options.topologies.size()]));
  }
  const std::string all = options.nodes == 1 ? "n0" : fmt::format("n[0-{}]", options.nodes - 1);
  text += fmt::format("partitions:\n  - {{name: main, nodes: \"{}\", default: true, unlimited: true}}\n", all);
  return text;
}

}  // namespace

Status check_topologies(DevOptions& options) {
  const auto names = topo::generated_names();
  for (std::string& topology : options.topologies) {
    GW_TRY(read, topo::load(topology));
    static_cast<void>(read);
    if (std::find(names.begin(), names.end(), topology) == names.end() && topology != "live") {
      topology = fs::absolute(topology).lexically_normal().string();
    }
  }
  return {};
}

Result<uint16_t> free_port() {
  std::random_device random;
  for (int i = 0; i < kPortTries; ++i) {
    const auto port = static_cast<uint16_t>(kFirstPort + random() % (kLastPort - kFirstPort));
    if (can_listen(port)) return port;
  }
  return base::fail(base::ErrorCode::kUnavailable,
                    fmt::format("found no free TCP port between {} and {} on 127.0.0.1", kFirstPort, kLastPort));
}

Result<std::string> dev_config_text(const DevLayout& layout, const DevOptions& options, uint16_t port) {
  const std::string text = head_text(layout, port) + nodes_text(options);
  if (options.config.empty()) return text;
  std::error_code ignored;
  if (fs::is_directory(options.config, ignored))  // a stream would take it for an empty file
    return base::invalid("cannot read --config " + options.config + ": it is a folder");
  std::ifstream in(options.config, std::ios::binary);
  if (!in) return base::fail_errno("cannot read --config " + options.config, errno);
  std::stringstream over;
  over << in.rdbuf();
  return config::merge_yaml(text, over.str(), options.config);
}

}  // namespace gw::cmds
