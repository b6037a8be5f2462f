// The checks of `gangway doctor`.
#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "auth/munge.h"
#include "base/counted.h"
#include "base/text.h"
#include "cmds/gangway/shared/ask_controller.h"
#include "cmds/gangway/shared/process.h"
#include "cmds/gangway/verbs/doctor.h"

namespace gw::cmds {
namespace {

constexpr const char* kDefaultKey = "/etc/munge/munge.key";
constexpr base::Duration kMungeLifetime = base::seconds(300);
constexpr uint64_t kLeastFreeMb = 100;
constexpr uint64_t kWarnFreeMb = 1024;

Finding ok(std::string check, std::string text) { return {Health::kOk, std::move(check), std::move(text), ""}; }

base::Time now() { return base::SystemClock().now(); }

Finding check_round_trip(const config::Config& config) {
  auth::MungeAuthenticator munge(config.munge_socket);
  const base::Time start = now();
  const auto credential = munge.encode("gangway doctor", geteuid());
  if (!credential) return {Health::kFail, "munge", credential.error().what, credential.error().hint};
  const auto decoded = munge.decode(*credential);
  if (!decoded) return {Health::kFail, "munge", decoded.error().what, decoded.error().hint};
  return ok("munge", fmt::format("a credential was made and read in {:.1f} ms",
                                 static_cast<double>((now() - start).us) / 1000.0));
}

// Only where munged runs with its defaults do we know which key it has.
Finding check_key() {
  struct stat st = {};
  if (stat(kDefaultKey, &st) != 0) {
    if (errno == EACCES)
      return ok("munge key", fmt::format("{} is hidden from this user, as it should be", kDefaultKey));
    return {Health::kWarn, "munge key", fmt::format("{}: {}", kDefaultKey, strerror(errno)),
            "copy the cluster's key there, owned by munge, mode 0400, and restart munge"};
  }
  if ((st.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return {Health::kFail, "munge key",
            fmt::format("{} has mode {:04o}: others can read the key", kDefaultKey, st.st_mode & 07777),
            fmt::format("chmod 0400 {}, and make a new key for the whole cluster: this one is no secret any more",
                        kDefaultKey)};
  }
  return ok("munge key", fmt::format("{} has mode {:04o}", kDefaultKey, st.st_mode & 07777));
}

// Runs one of our programs and returns what it prints.
base::Result<std::string> output_of(const std::string& name, const std::string& arguments) {
  GW_TRY(path, find_program(name));
  FILE* out = popen((base::shell_quote(path) + " " + arguments + " 2>&1").c_str(), "re");
  if (out == nullptr) return base::fail_errno("cannot run " + path, errno);
  std::string text;
  char chunk[4096];
  for (size_t n = 0; (n = fread(chunk, 1, sizeof chunk, out)) > 0 && text.size() < (1 << 20);) text.append(chunk, n);
  const int status = pclose(out);
  if (status != 0)
    return base::fail(base::ErrorCode::kInternal, fmt::format("{} failed: {}", path, base::printable(text)));
  return text;
}

// Folders that are not made yet are looked at by the nearest parent that is.
std::string existing_parent(std::string path) {
  while (path.size() > 1 && access(path.c_str(), F_OK) != 0) path.resize(std::max<size_t>(1, path.rfind('/')));
  return path;
}

Findings controller_findings(const wire::PingReply& ping, base::Duration round_trip, const std::string& where) {
  Findings all;
  all.push_back(ok("controller", fmt::format("{} answered in {:.1f} ms; cluster {}, {} of {} up", where,
                                             static_cast<double>(round_trip.us) / 1000.0, ping.cluster(),
                                             ping.nodes_up(), base::counted(ping.nodes(), "node"))));
  if (!ping.store_state().empty() && ping.store_state() != "ok") {
    all.push_back({Health::kFail, "controller", "its store: " + ping.store_state(),
                   "look at the disk of controller.state_dir on the controller's host"});
  }
  if (ping.held_aside() > 0)
    all.push_back({Health::kWarn, "state",
                   fmt::format("{} of the controller's state cannot be read and {} held aside",
                               base::counted(ping.held_aside(), "row"), ping.held_aside() == 1 ? "is" : "are"),
                   "look at them by: gcontrol show heldaside"});
  const std::string own = client::version_line({"gangway", false});
  if (own == "gangway " + ping.version() || own == ping.version()) {
    all.push_back(ok("version", own + " here and at the controller"));
  } else {
    all.push_back({Health::kWarn, "version", fmt::format("{} here, {} at the controller", own, ping.version()),
                   "install the same version everywhere, the controller first"});
  }
  return all;
}

}  // namespace

Finding judge_munge_version(const std::string& version) {
  if (!auth::is_munge_vulnerable(version)) return ok("munge", "munged " + version);
  return {
      Health::kWarn, "munge",
      fmt::format("munged says it is {}: before 0.5.18 it can leak its key to local users (CVE-2026-25506)", version),
      "install the newest munge of your distribution, which may hold the fix under this number, and then make a new "
      "key"};
}

Findings check_munge(const config::Config& config) {
  Findings all;
  const auto version = auth::munged_version();
  if (version) {
    all.push_back(judge_munge_version(*version));
  } else {
    all.push_back({Health::kFail, "munge", version.error().what, version.error().hint});
  }
  all.push_back(check_round_trip(config));
  if (config.munge_socket.empty()) all.push_back(check_key());
  return all;
}

Finding judge_clock(base::Duration offset) {
  const double seconds = static_cast<double>(offset.us) / 1e6;
  const std::string text = fmt::format("the controller's clock is {:+.3f} s off this host's", seconds);
  const base::Duration size = offset.us < 0 ? base::Duration{-offset.us} : offset;
  const std::string remedy = "synchronise the clocks of all hosts (chronyc tracking)";
  if (size >= kMungeLifetime) return {Health::kFail, "clock", text + ": MUNGE refuses credentials this old", remedy};
  if (size.us * 4 >= kMungeLifetime.us) return {Health::kWarn, "clock", text + ": MUNGE accepts 300 s at most", remedy};
  return ok("clock", text);
}

Findings judge_foreign_runs(const wire::ListNodesReply& nodes) {
  Findings all;
  for (const wire::Node& node : nodes.nodes()) {
    if (node.foreign_runs_size() == 0) continue;
    const std::vector<std::string> runs(node.foreign_runs().begin(), node.foreign_runs().end());
    all.push_back({Health::kWarn, "state",
                   fmt::format("node {} runs what the controller's state does not know: {}", node.name(),
                               base::printable(base::join(runs, ", "), 200)),
                   "wait for their end, or: gcontrol update nodename=" + node.name() + " foreign=end"});
  }
  return all;
}

Findings check_controller(const std::string& config_path, const config::Config& config) {
  const std::string where = fmt::format("{}:{}", config.controller_host, config.controller_port);
  wire::ApiRequest request;
  request.mutable_ping();
  const base::Time start = now();
  const auto reply = probe_controller(config_path, request);
  const base::Time end = now();
  if (!reply) {
    const base::Error& e = reply.error();
    return {{Health::kFail, "controller", e.what,
             e.hint.empty() ? "is gctld running on " + config.controller_host + ", and the port open?" : e.hint}};
  }
  Findings all = controller_findings(reply->ping(), end - start, where);
  request.mutable_list_nodes();
  if (const auto nodes = probe_controller(config_path, request)) {
    Findings foreign = judge_foreign_runs(nodes->list_nodes());
    all.insert(all.end(), foreign.begin(), foreign.end());
  }
  const base::Time middle = start + base::Duration{(end - start).us / 2};
  all.push_back(judge_clock(base::Time{reply->ping().now_us()} - middle));
  return all;
}

Findings judge_nodes(const wire::ListNodesReply& nodes) {
  constexpr size_t kMost = 20;
  Findings all;
  size_t more = 0;
  for (const wire::Node& node : nodes.nodes()) {
    if (node.warning().empty()) continue;
    if (all.size() == kMost)
      ++more;
    else
      all.push_back(
          {Health::kWarn, "nodes", fmt::format("{}: {}", node.name(), base::printable(node.warning(), 500)),
           fmt::format("see gnoded's log on {} and its devices (nvidia-smi, rocm-smi), then restart gnoded there",
                       node.name())});
  }
  if (more > 0)
    all.push_back({Health::kWarn, "nodes", fmt::format("{} have warnings, too", base::counted(more, "other node")),
                   "ginfo -R lists them"});
  return all;
}

Findings check_nodes(const std::string& config_path) {
  wire::ApiRequest request;
  request.mutable_list_nodes();
  const auto reply = probe_controller(config_path, request);
  return reply ? judge_nodes(reply->list_nodes()) : Findings{};
}

Findings judge_probe(const std::string& json) {
  const auto report = nlohmann::json::parse(json, nullptr, false);
  if (!report.is_object())
    return {{Health::kFail, "containment", "gstepd --probe: " + base::printable(json), "reinstall Gangway"}};
  if (!report.contains("chosen") || !report["chosen"].is_string()) {
    return {
        {Health::kFail, "containment", report.value("error", "no containment is usable"), "reinstall the plug-ins"}};
  }
  const std::string chosen = report["chosen"];
  Findings all;
  all.push_back(ok("containment", "jobs are contained by " + chosen));
  if (chosen == "none") {
    all.back() = {Health::kWarn, "containment",
                  "no cgroup is usable: memory, cores and devices of jobs are not limited",
                  "run gnoded as root, or delegate a cgroup to its user"};
    return all;
  }
  for (const auto& kind : report.value("kinds", nlohmann::json::array())) {
    const bool is_chosen = kind.value("kind", "") == chosen;
    if (!is_chosen || !kind.contains("controllers")) continue;
    for (const auto& c : kind["controllers"]) {
      const std::string name = c.value("controller", "");
      if (c.value("usable", false)) {
        all.push_back(ok("containment", name + ": usable"));
      } else {
        all.push_back({Health::kWarn, "containment", name + ": not usable: " + c.value("why_not", ""),
                       "enable this controller, or accept that it does not limit jobs"});
      }
    }
  }
  return all;
}

std::optional<Finding> explain_no_probe(uint32_t uid, const config::Config& config) {
  if (uid == 0 || uid == config.controller_uid) return std::nullopt;
  return ok("containment",
            fmt::format("not checked: gnoded runs as root, and what it gets cannot be told as uid {}; run `gangway "
                        "doctor` as root on the node",
                        uid));
}

/// Of a node: whether MPI programs find a PMIx server.
Finding check_pmix() {
  const auto text = output_of("gpmixd", "--environment");
  if (text) return ok("mpi", "PMIx is there for MPI programs");
  return {Health::kWarn, "mpi", "no PMIx for MPI programs: " + text.error().what,
          "reinstall Gangway with gpmixd, and libpmix; programs without MPI run all the same"};
}

Findings check_containment(const config::Config& config) {
  if (auto untold = explain_no_probe(geteuid(), config)) return {*untold};
  const auto text = output_of("gstepd", "--probe --json");
  if (text) {
    Findings all = judge_probe(*text);
    all.push_back(check_pmix());
    return all;
  }
  if (text.error().code == base::ErrorCode::kNotFound) {
    return {ok("containment", "gstepd is not installed here: this host is not a node")};
  }
  return {{Health::kFail, "containment", text.error().what, "see the message"}};
}

Findings check_users(const config::Config& config) {
  Findings all;
  const passwd* self = getpwuid(getuid());
  if (self == nullptr) {
    all.push_back({Health::kFail, "users", fmt::format("uid {} has no name on this host", getuid()),
                   "every host needs the same users: check nsswitch.conf, LDAP or sssd"});
  } else {
    const std::string name = self->pw_name;
    const passwd* back = getpwnam(name.c_str());
    if (back != nullptr && back->pw_uid == getuid()) {
      all.push_back(ok("users", fmt::format("uid {} is {}", getuid(), name)));
    } else {
      all.push_back({Health::kWarn, "users", fmt::format("uid {} is {}, but {} is another uid", getuid(), name, name),
                     "a name must stand for one uid on all hosts"});
    }
  }
  const passwd* controller = getpwuid(config.controller_uid);
  all.push_back(ok("users", fmt::format("the controller runs as uid {}{}", config.controller_uid,
                                        controller != nullptr ? fmt::format(" ({})", controller->pw_name) : "")));
  return all;
}

Finding judge_disk(const std::string& path, uint64_t free_mb, uint64_t total_mb) {
  const std::string text =
      fmt::format("{}: {} free of {}", path, base::format_memory_mb(free_mb), base::format_memory_mb(total_mb));
  const std::string remedy = "make room: without space the controller takes no jobs, and nodes start none";
  if (free_mb < kLeastFreeMb) return {Health::kFail, "disk", text, remedy};
  if (free_mb < kWarnFreeMb) return {Health::kWarn, "disk", text, remedy};
  return ok("disk", text);
}

Findings check_disks(const config::Config& config) {
  Findings all;
  for (const std::string& path : {config.state_dir, config.spool_dir}) {
    struct statvfs st = {};
    if (path.empty() || statvfs(existing_parent(path).c_str(), &st) != 0) continue;
    const uint64_t block = st.f_frsize;
    all.push_back(judge_disk(path, (st.f_bavail * block) >> 20, (st.f_blocks * block) >> 20));
  }
  return all;
}

}  // namespace gw::cmds
