// gangway dev up | down | status | env | run: options and what is printed.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>

#include "base/text.h"
#include "cmds/gangway/dev/dev.h"
#include "cmds/gangway/dev/dev_daemons.h"
#include "cmds/gangway/shared/verbs.h"

namespace gw::cmds {
namespace {

using base::Status;

const std::vector<std::pair<std::string_view, std::string_view>> kEnvironment = {
    {"XDG_STATE_HOME", "the default folder is $XDG_STATE_HOME/gangway/dev, or ~/.local/state/gangway/dev"}};

const client::CommandDoc kUpDoc = {
    "start a private cluster on this machine",
    "[OPTIONS]",
    "Starts a munged with a key of its own, a controller, and emulated nodes n0, n1, ...; returns when all nodes are "
    "idle. "
    "The folder gets gangway.yaml, log/, state/ and run/ with a pid file for each daemon. Works as root, where jobs "
    "may be "
    "of several users, and as any user. The state stays when the cluster goes down.",
    {{"0", "all nodes are idle"}, {"1", "the cluster did not come up; nothing is left running"}},
    kEnvironment,
    {{"gangway dev up --nodes 2 --topology dgx-h100,l40s", "two nodes of different makes"}},
    {},
};
const client::CommandDoc kDownDoc = {"end a private cluster",
                                     "[OPTIONS]",
                                     "Ends the daemons and every job of the cluster, and removes its runtime folder. "
                                     "gangway.yaml, log/ and state/ stay.",
                                     {{"0", "nothing runs any more"}, {"1", "something could not be ended"}},
                                     kEnvironment,
                                     {},
                                     {}};
const client::CommandDoc kStatusDoc = {"show the daemons of a private cluster",
                                       "[OPTIONS]",
                                       "One paragraph a daemon: its pid, whether it lives, and the command that starts "
                                       "it again by hand.",
                                       {{"0", "all live"}, {"1", "one or more do not, or there is no cluster"}},
                                       kEnvironment,
                                       {},
                                       {}};
const client::CommandDoc kEnvDoc = {"print what to export to use a private cluster",
                                    "[OPTIONS]",
                                    "Shell commands for eval.",
                                    {{"0", "done"}, {"1", "there is no cluster"}},
                                    kEnvironment,
                                    {{"eval \"$(gangway dev env)\"", "makes this shell use the cluster"}},
                                    {}};
const client::CommandDoc kRunDoc = {
    "run a command with a private cluster",
    "[OPTIONS] -- COMMAND [ARGUMENTS]",
    "Starts a cluster in a temporary folder (or --dir), runs the command with it in its environment, and takes it down "
    "after, also on SIGINT, SIGTERM and SIGHUP. Standard output is the command's alone.",
    {{"N", "the command's exit code, or 128 + the signal that ended it"},
     {"1", "the cluster did not come up"},
     {"127", "no such command"}},
    {},
    {{"gangway dev run --nodes 2 -- gbatch --wait -N2 --wrap hostname", "a job over two nodes"}},
    {},
};

client::Option with_value(std::string_view name, std::string_view value, std::string_view help,
                          client::Handler handler) {
  client::Option o;
  o.name = name;
  o.arg = client::Arg::kRequired;
  o.value = value;
  o.help = help;
  o.handler = std::move(handler);
  return o;
}

client::Option dir_option(DevOptions& o) { return text_option("dir", 0, "D", "folder of the cluster", o.dir); }

Status set_topologies(DevOptions& o, std::string_view value) {
  o.topologies = base::split(value, ',');
  for (const std::string& t : o.topologies)
    if (t.empty()) return base::invalid("--topology: an empty name in \"" + base::printable(value) + "\"");
  return {};
}

std::vector<client::Option> cluster_options(DevOptions& o) {
  std::vector<client::Option> table;
  table.push_back(dir_option(o));
  table.push_back(with_value("nodes", "N", "number of emulated nodes; 4 by default", [&](std::string_view v) -> Status {
    GW_TRY(n, base::parse_int(v, 1, kMaxDevNodes, "--nodes"));
    o.nodes = static_cast<uint32_t>(n);
    return {};
  }));
  table.push_back(with_value("topology", "NAME|FILE.xml[,...]",
                             "what the nodes look like, dealt in turn: dgx-h100 (default), a100-pcie, l40s, cpu, or an "
                             "hwloc XML file",
                             [&](std::string_view v) { return set_topologies(o, v); }));
  table.push_back(text_option("config", 0, "FILE", "keys that go over those of the generated gangway.yaml", o.config));
  return table;
}

std::optional<int> refuse_operands(const Invocation& call, const std::vector<std::string>& operands) {
  if (operands.empty()) return std::nullopt;
  return failed(call.program, {base::ErrorCode::kInvalid, "unexpected \"" + base::printable(operands[0]) + "\"",
                               "this verb takes options only"});
}

int up(const Invocation& call) {
  DevOptions options;
  std::vector<std::string> operands;
  if (const auto code = parse_verb(call, kUpDoc, cluster_options(options), operands)) return *code;
  if (const auto code = refuse_operands(call, operands)) return *code;
  if (const Status ok = check_topologies(options); !ok) return failed(call.program, ok.error());
  auto layout = dev_layout(options.dir);
  if (!layout) return failed(call.program, layout.error());
  const Status started = dev_bring_up(options, *layout, [] { return Status{}; });
  if (!started) return failed(call.program, started.error());
  const std::string dir = options.dir.empty() ? "" : " --dir " + base::shell_quote(layout->dir);
  client::print_note(call.program, fmt::format("{} node{} up; the cluster's files are in {}", options.nodes,
                                               options.nodes == 1 ? " is" : "s are", layout->dir));
  client::print_note(call.program, fmt::format("to use it: eval \"$(gangway dev env{})\"", dir));
  client::print_note(call.program, fmt::format("to end it: gangway dev down{}", dir));
  return client::kExitOk;
}

// The layout of a cluster that is there, of any user.
base::Result<DevLayout> anybodys(const DevOptions& options) {
  GW_TRY(layout, dev_layout(options.dir));
  if (layout.runtime.empty() && layout.foreign.empty()) {
    return base::fail(base::ErrorCode::kNotFound, "no cluster is up in " + layout.dir,
                      "start one with `gangway dev up`, or name its folder with --dir");
  }
  return layout;
}

// The layout of our cluster that is there.
base::Result<DevLayout> existing(const DevOptions& options) {
  GW_TRY(layout, anybodys(options));
  if (!layout.foreign.empty()) {
    return tl::unexpected(foreign_cluster(
        layout, "only that user sees its daemons and ends it; to use it: eval \"$(gangway dev env --dir " +
                    base::shell_quote(layout.dir) + ")\""));
  }
  return layout;
}

int down(const Invocation& call) {
  DevOptions options;
  std::vector<std::string> operands;
  if (const auto code = parse_verb(call, kDownDoc, {dir_option(options)}, operands)) return *code;
  if (const auto code = refuse_operands(call, operands)) return *code;
  auto layout = existing(options);
  if (!layout) return failed(call.program, layout.error());
  const char* used = getenv("GANGWAY_CONF");
  const bool is_used_here = used != nullptr && used == layout->shared_config();
  const auto left = dev_take_down(*layout);
  if (is_used_here) client::print_note(call.program, "this shell still looks for that cluster: unset GANGWAY_CONF");
  for (const std::string& problem : left) client::print_error(call.program, problem);
  return left.empty() ? client::kExitOk : client::kExitFailed;
}

int status(const Invocation& call) {
  DevOptions options;
  std::vector<std::string> operands;
  if (const auto code = parse_verb(call, kStatusDoc, {dir_option(options)}, operands)) return *code;
  if (const auto code = refuse_operands(call, operands)) return *code;
  const auto layout = existing(options);
  if (!layout) return failed(call.program, layout.error());
  std::string out = fmt::format("folder   {}\nruntime  {}\n", layout->dir, layout->runtime);
  bool all_live = true;
  for (const std::string& daemon : dev_daemons(*layout)) {
    const auto pid = find_by_pid_file(layout->pid_of(daemon));
    all_live = all_live && pid;
    out += fmt::format("\n{}: {}\n  {}\n", daemon, pid ? fmt::format("pid {}, alive", *pid) : "not running",
                       recorded_command(*layout, daemon));
  }
  if (!client::print_out(out)) return client::kExitFailed;
  return all_live ? client::kExitOk : client::kExitFailed;
}

int env(const Invocation& call) {
  DevOptions options;
  std::vector<std::string> operands;
  if (const auto code = parse_verb(call, kEnvDoc, {dir_option(options)}, operands)) return *code;
  if (const auto code = refuse_operands(call, operands)) return *code;
  auto layout = anybodys(options);
  if (!layout) return failed(call.program, layout.error());
  if (layout->runtime.empty()) layout->runtime = layout->foreign;  // its configuration and sockets are for all users
  std::string out;
  for (const auto& [name, value] : dev_environment(*layout)) {
    out += fmt::format("export {}={}\n", name, base::shell_quote(value));
  }
  return client::print_out(out) ? client::kExitOk : client::kExitFailed;
}

int run(const Invocation& call) {
  DevOptions options;
  std::vector<std::string> command;
  if (const auto code = parse_verb(call, kRunDoc, cluster_options(options), command, {.stop_at_operand = true})) {
    return *code;
  }
  if (command.empty()) {
    return failed(call.program, {base::ErrorCode::kInvalid, "a command is needed",
                                 "gangway dev run -- gbatch --wait --wrap hostname"});
  }
  if (const Status ok = check_topologies(options); !ok) return failed(call.program, ok.error());
  return dev_run(call.program, std::move(options), command);
}

constexpr Verb kDevVerbs[] = {
    {"up", "[OPTIONS]", "start a cluster", up},
    {"down", "[--dir D]", "end it, with all its jobs", down},
    {"status", "[--dir D]", "show its daemons and their commands", status},
    {"env", "[--dir D]", "print what to export to use it", env},
    {"run", "[OPTIONS] -- COMMAND", "run a command with a cluster of its own", run},
};

}  // namespace

int dev_verb(const Invocation& call) {
  return run_verb(call.program, "A private cluster of emulated nodes on this machine.", kDevVerbs, call.args);
}

}  // namespace gw::cmds
