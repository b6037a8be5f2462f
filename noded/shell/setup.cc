// From command line and configuration to what the daemon needs: the implementation.
// Invariants: see setup.h.
#include "noded/shell/setup.h"

#include <arpa/inet.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <utility>

#include "base/text.h"
#include "noded/shell/own_address.h"
#include "noded/step/contain/plugin_loader.h"
#include "noded/step/proc/files.h"
#include "topo/gres.h"
#include "topo/load.h"
#include "topo/reader.h"
#include "wire/convert.h"

namespace gw::noded {

namespace fs = std::filesystem;

namespace {

std::string own_folder() {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error).parent_path().string();
}

std::string host_name() {
  std::array<char, 256> name{};
  static_cast<void>(::gethostname(name.data(), name.size() - 1));
  const std::string text = name.data();
  return text.substr(0, text.find('.'));
}

bool is_program(const std::string& path) { return ::access(path.c_str(), X_OK) == 0; }

base::Result<std::string> find_gstepd(const std::string& given) {
  const std::string folder = own_folder();
  std::vector<std::string> candidates = {folder + "/gstepd", folder + "/../sbin/gstepd",
                                         folder + "/../libexec/gangway/gstepd"};
  if (!given.empty()) candidates = {given};
  for (const std::string& path : candidates)
    if (is_program(path)) return fs::absolute(path).lexically_normal().string();
  return base::fail(base::ErrorCode::kNotFound, "cannot run " + candidates.front(),
                    "install gstepd beside gnoded, or say where it is: --gstepd PATH");
}

base::Result<model::NodeConfig> find_node(const config::Config& config, const std::string& name) {
  std::vector<std::string> names;
  for (const model::NodeConfig& node : config.nodes) {
    if (node.name == name) return node;
    names.push_back(node.name);
  }
  std::string hint = base::did_you_mean(name, names);
  return base::fail(base::ErrorCode::kNotFound, "node \"" + name + "\" is not in " + config.path,
                    hint.empty() ? "add it under nodes:, or name another with --node" : hint);
}

void warn(Setup& setup, const std::string& text) { setup.warning += (setup.warning.empty() ? "" : "; ") + text; }

base::Status read_topology(const std::string& name, Setup& setup) {
  const bool is_live = name.empty() || name == "live";
  auto topology = is_live ? topo::read_live() : topo::load(name);
  if (!topology) return base::pass(topology);
  if (is_live)
    for (const std::string& warning : topo::add_live_gres(*topology).warnings) warn(setup, warning);
  setup.node.is_emulated = !is_live;
  setup.node.topology = wire::to_wire(*topology);
  setup.notes.push_back(
      "topology " + (is_live ? std::string("of this machine") : name) + ": " + std::to_string(topology->sockets) +
      " sockets, " + std::to_string(topology->cores.size()) + " cores, " + std::to_string(topology->memory_mb) +
      " MiB, " + std::to_string(topology->gpus.size()) + " GPUs, " + std::to_string(topology->nics.size()) + " NICs");
  return {};
}

base::Status choose_containment(Setup& setup) {
  GW_TRY(choice, step::choose_containment(setup.plugin_dir, setup.config.containment));
  setup.node.containment = choice.kind;
  std::string able;
  for (const step::ProbeReport& report : choice.reports) {
    if (report.kind != choice.kind) continue;
    for (const step::ControllerReport& controller : report.controllers) {
      if (!controller.usable) continue;
      able += " " + controller.controller;
      if (controller.controller == "devices") setup.node.constrain_devices = setup.config.constrain_devices;
    }
  }
  setup.notes.push_back("containment " + choice.kind + ":" + (able.empty() ? " processes only" : able));
  return {};
}

// The names of emulated nodes resolve inside their jobs.
void name_hosts(Setup& setup) {
  setup.node.own_host_name = setup.node.is_emulated && ::geteuid() == 0;
  if (!setup.node.own_host_name) return;
  for (const model::NodeConfig& node : setup.config.nodes) {
    in_addr v4{};
    in6_addr v6{};
    const char* address = node.address.c_str();
    if (::inet_pton(AF_INET, address, &v4) == 1 || ::inet_pton(AF_INET6, address, &v6) == 1)
      setup.node.hosts.push_back(node.address + " " + node.name);
  }
}

void set_link(const DaemonOptions& options, Setup& setup) {
  const config::Config& config = setup.config;
  const bool is_v6 = config.controller_host.find(':') != std::string::npos;
  const std::string host = is_v6 ? "[" + config.controller_host + "]" : config.controller_host;
  setup.dial.address =
      options.controller.empty() ? host + ":" + std::to_string(config.controller_port) : options.controller;
  setup.dial.bind_host = options.bind;
  if (options.bind.empty())
    setup.node.own_address = own_address(setup.node.name);
  else
    setup.node.listen_host = options.bind.find(':') != std::string::npos ? "[" + options.bind + "]" : options.bind;
  setup.dial.receiver = config.cluster + "/gctld";
  setup.dial.receiver_uid = config.controller_uid;
  setup.dial.role = auth::Role::kNode;
  setup.munge_socket = config.munge_socket;
  setup.notes.push_back("controller " + setup.dial.address + ", uid " + std::to_string(config.controller_uid));
}

void set_programs(Setup& setup) {
  setup.node.prolog = setup.config.prolog;
  setup.node.epilog = setup.config.epilog;
  for (const auto& [key, path] : {std::pair("prolog", setup.node.prolog), std::pair("epilog", setup.node.epilog)})
    if (!path.empty() && !is_program(path))
      warn(setup, std::string("node_daemon.") + key + ": " + path + " cannot be executed: jobs will drain this node");
  setup.node.task_prolog = setup.config.task_prolog;
  setup.node.task_epilog = setup.config.task_epilog;
  setup.node.program_limit = setup.config.program_limit;
  for (const auto& [key, path] :
       {std::pair("task_prolog", setup.node.task_prolog), std::pair("task_epilog", setup.node.task_epilog)})
    if (!path.empty() && !is_program(path))
      warn(setup, std::string("node_daemon.") + key + ": " + path + " cannot be executed");
}

uint64_t machine_pid_max() {
  const auto text = step::proc::read_file("/proc/sys/kernel/pid_max");
  if (!text) return 0;
  const auto number = base::parse_int(base::trim(*text), 0, INT64_MAX, "kernel.pid_max");
  return number ? static_cast<uint64_t>(*number) : 0;
}

/// In `own`, or, where that is the daemons' sbin, in bin beside it.
void find_commands(const fs::path& own, NodeFacts& node) {
  const fs::path prefix = own.parent_path();
  for (const fs::path& folder : {own, prefix / "bin"}) {
    if (!is_program((folder / "gbatch").string())) continue;
    node.commands_dir = folder.string();
    break;
  }
  const fs::path slurm = prefix / "libexec/gangway/slurm";
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(slurm, error))
    if (is_program(entry.path().string())) node.slurm_commands.push_back(entry.path().filename().string());
  std::sort(node.slurm_commands.begin(), node.slurm_commands.end());
  if (!node.slurm_commands.empty()) node.slurm_commands_dir = slurm.string();
  node.has_login_file = fs::exists("/etc/profile.d/gangway_jobs.sh", error);
}

}  // namespace

uint32_t process_limit(uint32_t configured, uint64_t pid_max) {
  if (configured == 0 || pid_max < 2) return configured;
  return static_cast<uint32_t>(std::min<uint64_t>(configured, pid_max / 2));
}

base::Result<Setup> make_setup(const DaemonOptions& options) {
  Setup setup;
  const std::string path = options.config.empty() ? config::default_path() : options.config;
  GW_TRY(config, config::load(path));
  setup.config = std::move(config);
  const std::string name = options.node.empty() ? host_name() : options.node;
  GW_TRY(node, find_node(setup.config, name));
  setup.node.name = name;
  setup.node.cluster = setup.config.cluster;
  setup.node.config_path = fs::absolute(path).lexically_normal().string();
  find_commands(options.commands.empty() ? own_folder() : options.commands, setup.node);
  set_programs(setup);
  if (setup.config.step_ports != "0") setup.node.step_ports = setup.config.step_ports;
  setup.node.max_processes = process_limit(setup.config.max_processes, machine_pid_max());
  setup.state_dir = options.state_dir.empty() ? setup.config.spool_dir + "/" + name : options.state_dir;
  setup.plugin_dir = step::default_plugin_dir();
  GW_TRY(gstepd, find_gstepd(options.gstepd));
  setup.gstepd = std::move(gstepd);
  GW_TRY_STATUS(read_topology(options.topology.empty() ? node.topology : options.topology, setup));
  GW_TRY_STATUS(choose_containment(setup));
  name_hosts(setup);
  set_link(options, setup);
  return setup;
}

}  // namespace gw::noded
