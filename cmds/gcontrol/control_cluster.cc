// gcontrol words about the cluster as a whole: its switches, its daemons, names of this machine, jobs that are clearing
// up, and waiting until a job's nodes are ready.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <set>
#include <thread>

#include "base/hostlist.h"
#include "base/text.h"
#include "client/show/job_view.h"
#include "cmds/gcontrol/control_verbs.h"
#include "cmds/shared/job_filter.h"
#include "cmds/shared/job_ids.h"
#include "config/config.h"

namespace gw::cmds {
namespace {

using client::Program;

struct Switch {
  std::vector<std::string> nodes, switches;  // directly below it
  uint32_t level = 0;                        // 0: a leaf
};
using Switches = std::map<std::string, Switch>;

base::Result<Switches> switches_of(const wire::ShowConfigReply& config) {
  constexpr std::string_view kPrefix = "network.";
  Switches out;
  for (const wire::ConfigEntry& e : config.entries()) {
    if (!e.key().starts_with(kPrefix)) continue;
    const size_t dot = e.key().rfind('.');
    if (dot <= kPrefix.size()) continue;
    const std::string kind = e.key().substr(dot + 1);
    GW_TRY(names, base::expand_hostlist(e.key().substr(kPrefix.size(), dot - kPrefix.size())));
    GW_TRY(below, base::expand_hostlist(e.value()));
    for (const std::string& name : names) {
      if (kind == "nodes") out[name].nodes = below;
      if (kind == "switches") out[name].switches = below;
    }
  }
  return out;
}

/// Its level, and all nodes below it; a switch knows none above it, so that no circle is walked.
uint32_t settle(Switches& all, const std::string& name, std::set<std::string>& nodes, size_t depth) {
  const auto found = all.find(name);
  if (found == all.end() || depth > all.size()) return 0;
  Switch& s = found->second;
  nodes.insert(s.nodes.begin(), s.nodes.end());
  uint32_t level = 0;
  for (const std::string& below : s.switches) level = std::max(level, settle(all, below, nodes, depth + 1) + 1);
  s.level = level;
  return level;
}

std::string topology_text(Switches& all, const std::string& only) {
  std::map<uint32_t, std::string> by_level;
  std::vector<std::string> names;
  for (const auto& [name, s] : all) names.push_back(name);
  std::sort(names.begin(), names.end(), base::host_less);
  for (const std::string& name : names) {
    std::set<std::string> below;
    const uint32_t level = settle(all, name, below, 0);
    if (!only.empty() && only != name && !below.contains(only)) continue;
    std::vector<std::string> nodes(below.begin(), below.end());
    std::sort(nodes.begin(), nodes.end(), base::host_less);
    std::string line =
        fmt::format("SwitchName={} Level={} LinkSpeed=1 Nodes={}", name, level, base::compress_hostlist(nodes));
    if (level > 0) line += " Switches=" + base::compress_hostlist(all[name].switches);
    by_level[level] += line + "\n";
  }
  std::string out;
  for (const auto& [level, lines] : by_level) out += lines;
  return out;
}

std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "";
}

bool is_this_host(const std::string& name) {
  const std::string host = host_name();
  if (name == "localhost" || name == "::1" || name.starts_with("127.")) return true;
  return name == host || name == host.substr(0, host.find('.'));
}

/// The jobs that the words name, as they are now.
base::Result<wire::ApiReply> listed(client::Connection& connection, const JobFilters& filters) {
  GW_TRY(filter, to_filter(filters));
  wire::ApiRequest request;
  *request.mutable_list_jobs()->mutable_filter() = std::move(filter);
  return connection.call(std::move(request));
}

}  // namespace

int show_topology(const Program& program, const ControlOptions&, Args words) {
  if (words.size() > 1) return refuse_operand(program, words[1], "show topology [SWITCH|NODE]");
  std::string only = words.empty() ? "" : words.front();
  only.erase(0, only.find('=') == std::string::npos ? 0 : only.find('=') + 1);  // node=n0, switch=s1
  wire::ApiRequest request;
  request.mutable_show_config();
  auto reply = ask(program, std::move(request));
  if (!reply) return failed(program, reply.error());
  auto switches = switches_of(reply->show_config());
  if (!switches) return failed(program, switches.error());
  if (switches->empty()) return printed("No topology information available\n");
  const std::string text = topology_text(*switches, only);
  if (text.empty())
    return failed(program, {base::ErrorCode::kNotFound, "no switch or node is called " + base::printable(only, 60),
                            "show topology lists all"});
  return printed(text);
}

int show_daemons(const Program& program, const ControlOptions&, Args words) {
  if (!words.empty()) return refuse_operand(program, words.front(), "show daemons takes no arguments");
  const auto config = client::load_config();
  if (!config) return failed(program, config.error());
  const auto whole = config::load(config::default_path());  // on a login node perhaps without the nodes
  std::string out;
  if (is_this_host(config->controller_host)) out += program.is_slurm ? "slurmctld " : "gctld ";
  const bool is_node = whole && std::any_of(whole->nodes.begin(), whole->nodes.end(),
                                            [](const model::NodeConfig& n) { return is_this_host(n.name); });
  if (is_node) out += program.is_slurm ? "slurmd " : "gnoded ";
  return printed(out + "\n");
}

int show_aliases(const Program& program, const ControlOptions&, Args words) {
  if (words.size() > 1) return refuse_operand(program, words[1], "show aliases [LIST]");
  auto hosts = words.empty() ? base::Result<std::vector<std::string>>({host_name()}) : base::expand_hostlist(words[0]);
  if (!hosts) return failed(program, hosts.error());
  wire::ApiRequest request;
  request.mutable_list_nodes();
  auto reply = ask(program, std::move(request));
  if (!reply) return failed(program, reply.error());
  std::vector<std::string> names;
  for (const std::string& host : *hosts)
    for (const wire::Node& node : reply->list_nodes().nodes())
      if (node.name() == host || node.name() == host.substr(0, host.find('.'))) names.push_back(node.name());
  return printed(base::join(names, " ") + (names.empty() ? "" : "\n"));
}

int control_completing(const Program& program, const ControlOptions& o, Args words) {
  if (!words.empty()) return refuse_operand(program, words.front(), "completing takes no arguments");
  auto connection = client::connect(program);
  if (!connection) return failed(program, connection.error());
  JobFilters filters;
  filters.states = {"completing"};
  auto reply = listed(*connection, filters);
  if (!reply) return failed(program, reply.error());
  const base::Time now{reply->list_jobs().now_us()};
  std::string out = last_update(o, now.us, reply->list_jobs().jobs_size());
  for (const wire::Job& job : reply->list_jobs().jobs()) {
    if (client::state_of(job) != model::JobState::kCompleting) continue;
    const base::Time end = client::end_of(job);  // zero: its processes have not ended yet
    const base::Time since = end ? end : base::Time{job.status().placed().kill_sent_us()};
    out += fmt::format(
        "JobId={} EndTime={} CompletingTime={} Nodes(COMPLETING)={}\n", job.id(), client::show_time(since, "Unknown"),
        base::format_duration(since && now > since ? now - since : base::Duration{}), client::node_list(job));
  }
  return printed(out);
}

int control_notify(const Program& program, const ControlOptions&, Args words) {
  JobIds ids;
  const std::string id = words.empty() ? "" : words.front();
  if (words.size() < 2 || !parse_job_ids(id.substr(id.find('=') == std::string::npos ? 0 : id.find('=') + 1), ids) ||
      ids.size() != 1)
    return failed(program, {base::ErrorCode::kInvalid, "notify: expected JOB_ID and a message", {}});
  const auto numbers = numbers_of(program, ids);
  if (!numbers) return failed(program, numbers.error());
  wire::ApiRequest request;
  request.mutable_notify_job()->set_id(numbers->front());
  const std::vector<std::string> text(words.begin() + 1, words.end());
  request.mutable_notify_job()->set_text(base::join(text, " "));
  const auto reply = ask(program, std::move(request));
  return reply ? client::kExitOk : failed(program, reply.error());
}

int control_wait_job(const Program& program, const ControlOptions&, Args words) {
  JobFilters filters;
  const std::string word = words.size() == 1 ? words.front() : "";
  const size_t equals = word.find('=');
  if (words.size() != 1 || !parse_job_ids(word.substr(equals == std::string::npos ? 0 : equals + 1), filters.ids) ||
      filters.ids.size() != 1)
    return failed(program, {base::ErrorCode::kInvalid, "wait_job: expected JOB_ID", {}});
  auto connection = client::connect(program);
  if (!connection) return failed(program, connection.error());
  constexpr auto kPause = std::chrono::milliseconds(500);
  for (;; std::this_thread::sleep_for(kPause)) {
    auto reply = listed(*connection, filters);
    if (!reply) return failed(program, reply.error());
    if (reply->list_jobs().jobs().empty())
      return failed(program, {base::ErrorCode::kNotFound, "Invalid job id specified", {}});
    const wire::Job& job = reply->list_jobs().jobs(0);
    const model::JobState state = client::state_of(job);
    if (state == model::JobState::kRunning || state == model::JobState::kSuspended) return client::kExitOk;
    if (state != model::JobState::kPending && state != model::JobState::kConfiguring)
      return failed(program,
                    {base::ErrorCode::kConflict, fmt::format("job {} has ended: {}", job.id(), long_name(state)), {}});
  }
}

}  // namespace gw::cmds
