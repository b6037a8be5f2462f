// The entry points: files and texts to a Config. See config.h.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "base/text.h"
#include "config/plain_yaml.h"
#include "config/read.h"
#include "model/named_counts.h"
#include "model/private_data.h"

namespace gw::config {
namespace {

using base::Result;
using base::Status;

// Closes a descriptor on every way out.
struct Descriptor {
  int fd;
  ~Descriptor() {
    if (fd >= 0) close(fd);
  }
};

// Who can write the file can have programs run as the daemons' users.
Status check_file(const std::string& path, const struct stat& st) {
  if (!S_ISREG(st.st_mode)) return base::invalid(path + " is not a regular file");
  if ((st.st_mode & S_IWOTH) != 0)
    return base::fail(base::ErrorCode::kDenied, path + " is writable for everybody", "chmod o-w " + path);
  if (static_cast<uint64_t>(st.st_size) > kMaxBytes)
    return base::invalid(fmt::format("{}: larger than {} MiB", path, kMaxBytes >> 20), "this is no configuration file");
  return {};
}

Result<std::string> read_file(const std::string& path) {
  // O_NONBLOCK: a FIFO must not hold the program up.
  Descriptor file{open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  constexpr char kHint[] = "make that file, or set $GANGWAY_CONF to the one to use";
  if (file.fd < 0) return base::fail_errno("cannot read the configuration " + path, errno, kHint);
  struct stat st {};
  if (fstat(file.fd, &st) != 0) return base::fail_errno("cannot read the configuration " + path, errno);
  GW_TRY_STATUS(check_file(path, st));
  std::string text;
  char buffer[65536];
  while (text.size() <= kMaxBytes) {
    ssize_t got = read(file.fd, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return base::fail_errno("cannot read the configuration " + path, errno);
    if (got == 0) break;
    text.append(buffer, static_cast<size_t>(got));
  }
  return text;
}

Result<Config> finish(Config c, const Problems& problems) {
  if (problems.has_errors()) return tl::unexpected<base::Error>(problems.to_error());
  c.warnings = problems.warnings();
  return c;
}

std::vector<std::string> node_names(const Config& c) {
  std::vector<std::string> names;
  for (const auto& node : c.nodes) names.push_back(node.name);
  return names;
}

constexpr std::string_view kClientParts[] = {"cluster", "controller", "auth"};

Result<Config> client_part_of(const Value& root, const std::string& path) {
  Problems problems(path);
  Config c;
  c.path = path;
  read_sections(root, c, problems, false);
  resolve_controller_user(root, c, problems);
  return finish(std::move(c), problems);
}

void check_licenses(const Value& root, const Config& c, Problems& problems) {
  const auto read = model::parse_licenses(base::join(c.licenses, ","));
  if (!read) problems.error(place_of(root, "licenses"), "licenses" + read.error().what.substr(10), read.error().hint);
}

void check_private(const Value& root, const Config& c, Problems& problems) {
  for (const std::string& word : c.private_data) {
    if (model::is_private_kind(word)) continue;
    problems.error(place_of(root, "private"), "private: nothing is called " + base::printable(word),
                   "jobs, users, usage and nodes are");
  }
}

}  // namespace

Result<Config> parse(std::string_view text, const std::string& path) {
  GW_TRY(root, read_yaml(text, path));
  Problems problems(path);
  Config c;
  c.path = path;
  read_sections(root, c, problems, true);
  read_nodes(root, c, problems);
  read_network(root, node_names(c), c.switches, c.network, problems);
  read_qos(root, c, problems);
  read_partitions(root, c, problems);
  resolve_controller_user(root, c, problems);
  check_admins(root, c, problems);
  check_licenses(root, c, problems);
  check_private(root, c, problems);
  return finish(std::move(c), problems);
}

Result<Config> load(const std::string& path) {
  GW_TRY(text, read_file(path));
  return parse(text, path);
}

Result<Config> load_client_part(const std::string& path) {
  GW_TRY(text, read_file(path));
  std::optional<Value> plain = read_plain_yaml(text, kClientParts);
  GW_TRY(root, plain ? Result<Value>(std::move(*plain)) : read_yaml(text, path, kClientParts));
  return client_part_of(root, path);
}

Result<Config> load_plain_client_part(const std::string& path) {
  GW_TRY(text, read_file(path));
  std::optional<Value> plain = read_plain_yaml(text, kClientParts);
  if (!plain) return base::invalid(path + " is not written plainly");
  return client_part_of(*plain, path);
}

std::string script_socket(const Config& c) { return c.run_dir + "/gscriptd.socket"; }

std::string default_path() {
  const char* path = std::getenv("GANGWAY_CONF");
  return path != nullptr && *path != '\0' ? path : "/etc/gangway/gangway.yaml";
}

}  // namespace gw::config
