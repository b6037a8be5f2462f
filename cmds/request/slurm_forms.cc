// See slurm_forms.h.
#include "cmds/request/slurm_forms.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/text.h"
#include "bind/words.h"
#include "client/options/pbs.h"
#include "cmds/request/job_values.h"
#include "cmds/request/locality_options.h"
#include "cmds/request/read_names.h"
#include "cmds/request/slurm_options.h"
#include "cmds/shared/commands.h"

namespace gw::cmds {
namespace {

using base::ErrorCode;
using base::invalid;
using base::Status;
using client::Arg;
using client::kDirective;
using client::Option;
using Text = std::string_view;

constexpr int64_t kMostTasks = 100'000'000, kMostSocketTasks = 10'000'000, kMostSockets = 1024, kMostCpus = 65'536,
                  kMostGpus = 10'000'000;

Option row(Text name, char letter, Text value, Text help, Text variable, client::Handler handler) {
  const Arg arg = value.empty() ? Arg::kNone : Arg::kRequired;
  return {name, letter, arg, value, help, variable, client::kRaw | kDirective, std::move(handler)};
}

// ---- As whom

/// Names are not looked up, since a program that is linked statically asks no directory service: a user's is compared
/// with the one that the login has set, a group's is left out.
Status only_own(BatchOptions& o, Text name, Text value, uint32_t own) {
  const auto number = base::parse_int(value, 0, UINT32_MAX, "id");
  const char* user = std::getenv("USER");
  if (!number && name == "gid") {
    o.left_out.add(name, "jobs run with the primary group of whoever submits them; sg GROUP -c COMMAND changes that");
    return {};
  }
  if (number ? static_cast<uint32_t>(*number) == own : user != nullptr && value == user) return {};
  return base::fail(ErrorCode::kDenied,
                    fmt::format("--{}: Access/permission denied: jobs run as whoever submits them", name),
                    name == "gid" ? "submit it by sg GROUP -c COMMAND" : "submit it as that user");
}

// ---- GPUs and tasks

/// `cpu:4,gres/gpu:h100:2`, also with `=` and older spellings of gres.
Status set_tres_per_task(BatchOptions& o, Text value) {
  for (std::string part : base::split(value, ',')) {
    std::replace(part.begin(), part.end(), '=', ':');
    const Text tres = part;
    const std::string sentence =
        "--tres-per-task: Invalid Trackable RESource (TRES) specification \"" + base::printable(tres, 60) + "\"";
    if (tres.starts_with("cpu:")) {
      o.given.cpus_per_task = true;
      GW_TRY_STATUS(number(o.spec.request.cpus_per_task, "--tres-per-task: cpu", 1, 65'536)(tres.substr(4)));
    } else if (tres.starts_with("gres/gpu:") || tres.starts_with("gres:gpu:")) {
      GW_TRY_STATUS(gpus(o.gpus.per_task, "--tres-per-task")(tres.substr(9)));
    } else if (tres.starts_with("license/") || tres.starts_with("license:")) {
      o.left_out.add("tres-per-task", "licences are those of the whole job: -L/--licenses");
    } else {
      return invalid(sentence, "cpu:COUNT and gres/gpu[:TYPE]:COUNT are");
    }
  }
  return {};
}

/// `gres/gpu:closest`: --gpu-bind in another form.
Status set_tres_bind(BatchOptions& o, Text value) {
  for (Text kind : {"gres/gpu:", "gres:gpu:", "gpu:"}) {
    if (!value.starts_with(kind)) continue;
    GW_TRY(bind, parse_gpu_bind(value.substr(kind.size())));
    o.spec.gpu_bind = bind;
    return {};
  }
  return invalid("--tres-bind: \"" + base::printable(value, 60) + "\" is not gres/gpu:HOW");
}

Status divide_sockets(BatchOptions& o) {
  const GpuSpec& per_socket = o.gpus.per_socket;
  const bool asks = per_socket.given && per_socket.count > 0;
  model::Request& r = o.spec.request;
  r.sockets = o.gpus.sockets_per_node;
  if (r.tasks_per_socket > 0 && r.sockets > 0 && !r.tasks_given && r.tasks_per_node == 0) {
    const uint64_t tasks = uint64_t{r.tasks_per_socket} * r.sockets;
    if (tasks > kMostTasks) return invalid(fmt::format("--ntasks-per-socket: {} tasks on a node are too many", tasks));
    r.tasks_per_node = static_cast<uint32_t>(tasks);
  }
  if (!asks) return {};
  if (o.gpus.sockets_per_node == 0)
    return invalid("--gpus-per-socket needs --sockets-per-node", "or say --gpus-per-node");
  const uint64_t all = uint64_t{per_socket.count} * o.gpus.sockets_per_node;
  if (all > kMostGpus) return invalid(fmt::format("--gpus-per-socket: {} GPUs on a node are too many", all));
  o.gpus.per_node = per_socket;
  o.gpus.per_node.count = static_cast<uint32_t>(all);
  return {};
}

// ---- What the job's steps read

/// A variable for the steps of the job, where grun takes it for its own option.
void tell_steps(BatchOptions& o, std::string name, Text value) {
  std::erase_if(o.slurm.for_steps, [&](const auto& each) { return each.first == name; });
  o.slurm.for_steps.emplace_back(std::move(name), std::string(value));
}

/// One task on a core says what --hint=nomultithread says, too; more are left out.
client::Handler tasks_per_core(BatchOptions& o) {
  return [&o](Text value) -> Status {
    constexpr Text kName = "ntasks-per-core";
    uint32_t count = 0;
    GW_TRY_STATUS(number(count, "--ntasks-per-core", 1, kMostCpus)(value));
    o.spec.request.whole_cores = count == 1;
    if (count > 1)
      o.left_out.add(kName, "tasks share a core where they have less than one each");
    else
      o.left_out.remove(kName);
    return {};
  };
}

/// One thread of each core is used, or nodes are looked for whose cores have so many.
Status set_threads(BatchOptions& o, uint32_t count) {
  o.spec.request.whole_cores = count == 1;
  o.spec.request.core_threads = count == 1 ? 0 : count;
  return {};
}

/// SOCKETS[:CORES[:THREADS]]; of a range its lower end, `*` is any.
Status set_layout(BatchOptions& o, Text value) {
  const std::vector<std::string> parts = base::split(value, ':');
  uint32_t counts[3] = {0, 0, 0};
  const auto refused = [&] {
    return invalid("-B/--extra-node-info: \"" + base::printable(value, 40) + "\" is not SOCKETS[:CORES[:THREADS]]");
  };
  if (parts.empty() || parts.size() > std::size(counts)) return refused();
  for (size_t i = 0; i < parts.size(); ++i) {
    if (parts[i] == "*") continue;
    const size_t dash = parts[i].find('-');
    const auto count = base::parse_int(parts[i].substr(0, dash), 1, kMostCpus, "");
    const bool has_bad_end = dash != std::string::npos && !base::parse_int(parts[i].substr(dash + 1), 1, kMostCpus, "");
    if (!count || has_bad_end) return refused();
    counts[i] = static_cast<uint32_t>(*count);
  }
  o.gpus.sockets_per_node = counts[0];
  o.spec.request.socket_cores = counts[1];
  return counts[2] == 0 ? Status{} : set_threads(o, counts[2]);
}

/// The tasks follow from the GPUs, or the GPUs from the tasks.
Status divide_gpus(BatchOptions& o) {
  const uint32_t each = o.gpus.tasks_per_gpu;
  if (each == 0) return {};
  model::Request& r = o.spec.request;
  const bool total = o.gpus.total.given && o.gpus.total.count > 0;
  const bool per_node = o.gpus.per_node.given && o.gpus.per_node.count > 0;
  if (o.gpus.per_task.given) return invalid("--ntasks-per-gpu and --gpus-per-task are mutually exclusive");
  if (r.tasks_per_node > 0 && !(total || per_node))
    return invalid("--ntasks-per-gpu and --ntasks-per-node are mutually exclusive");
  if (per_node) {
    const uint64_t tasks = uint64_t{o.gpus.per_node.count} * each;
    if (tasks > kMostTasks) return invalid(fmt::format("--ntasks-per-gpu: {} tasks on a node are too many", tasks));
    r.tasks_per_node = static_cast<uint32_t>(tasks);
  } else if (total) {
    const uint64_t tasks = uint64_t{o.gpus.total.count} * each;
    if (r.tasks_given && r.tasks != tasks)
      return invalid(fmt::format("--gpus={} with --ntasks-per-gpu={} means {} tasks, but -n/--ntasks asks for {}",
                                 o.gpus.total.count, each, tasks, r.tasks));
    r.tasks_given = true;
    r.tasks = static_cast<uint32_t>(std::min<uint64_t>(tasks, kMostTasks + 1));
  } else if (r.tasks_given) {
    if (r.tasks % each != 0)
      return invalid(fmt::format("-n/--ntasks={} is not a multiple of --ntasks-per-gpu={}", r.tasks, each));
    o.gpus.total.given = true;
    o.gpus.total.count = r.tasks / each;
  } else {
    return invalid("--ntasks-per-gpu needs a number of GPUs or of tasks", "say --gpus, --gpus-per-node or --ntasks");
  }
  if (o.spec.gpu_bind.empty()) o.spec.gpu_bind = fmt::format("single:{}", each);
  return {};
}

Status set_mem_bind(BatchOptions& o, Text value) {
  GW_TRY(words, bind::parse_mem(value));
  static_cast<void>(words);
  tell_steps(o, "SLURM_MEM_BIND", base::to_lower(value));
  return {};
}

Status set_tasks_per_socket(BatchOptions& o, Text value) {
  o.slurm.is_for_memory = false;
  return number(o.spec.request.tasks_per_socket, "--ntasks-per-socket", 1, kMostSocketTasks)(value);
}

void add_sizes(std::vector<Option>& t, BatchOptions& o) {
  t.push_back(row("ntasks-per-gpu", 0, "COUNT",
                  "so many tasks for each GPU: the tasks follow from the GPUs, or the GPUs from the tasks",
                  "NTASKS_PER_GPU", number(o.gpus.tasks_per_gpu, "--ntasks-per-gpu", 1, kMostTasks)));
  t.push_back(row("gpus-per-socket", 0, "[TYPE:]COUNT", "GPUs of a socket; needs --sockets-per-node", "GPUS_PER_SOCKET",
                  gpus(o.gpus.per_socket, "--gpus-per-socket")));
  t.push_back(row("tres-per-task", 0, "TRES:COUNT[,...]", "cpu and gres/gpu[:TYPE] of a task", "TRES_PER_TASK",
                  [&o](Text v) { return set_tres_per_task(o, v); }));
  t.push_back(
      row("tres-bind", 0, "gres/gpu:HOW", "as --gpu-bind", "TRES_BIND", [&o](Text v) { return set_tres_bind(o, v); }));
  t.push_back(
      row("spread-job", 0, "", "on as many nodes as there are tasks for: as --fit=spread", "SPREAD_JOB", [&o](Text) {
        o.slurm.is_spread = true;
        return Status{};
      }));
  t.push_back(row("ntasks-per-core", 0, "COUNT", "1: each CPU is a core of its own, as --hint=nomultithread",
                  "NTASKS_PER_CORE", tasks_per_core(o)));
  t.push_back(row("ntasks-per-socket", 0, "COUNT",
                  "at most so many tasks on a socket, each with whole cores there; with --sockets-per-node and without "
                  "-n exactly so many on each",
                  "NTASKS_PER_SOCKET", [&o](Text v) { return set_tasks_per_socket(o, v); }));
  t.push_back(row("extra-node-info", 'B', "SOCKETS[:CORES[:THREADS]]",
                  "on nodes with at least so many sockets, cores of a socket and threads of a core; * is any", {},
                  [&o](Text v) { return set_layout(o, v); }));
  t.push_back(row("nodefile", 'F', "FILE", "nodes that must be part of it, from a file", {}, [&o](Text v) -> Status {
    GW_TRY(names, read_names(std::string(v), "-F/--nodefile"));
    o.spec.request.nodelist = std::move(names);
    return {};
  }));
}

/// Seconds, then a letter that says nothing here: a login shell is asked in any case.
Status set_login_environment(BatchOptions& o, Text value) {
  const Text shown = value;
  if (!value.empty() && Text("sSlL").find(value.back()) != Text::npos) value.remove_suffix(1);
  o.slurm.login_seconds = kLoginSeconds;
  if (value.empty()) return {};
  const auto seconds = base::parse_int(value, 1, kMostLoginSeconds, "seconds");
  if (!seconds)
    return invalid("--get-user-env: \"" + base::printable(shown, 40) + "\" is not [SECONDS][S|L]",
                   "at most " + std::to_string(kMostLoginSeconds) + " seconds");
  o.slurm.login_seconds = static_cast<uint32_t>(*seconds);
  return {};
}

}  // namespace

Status set_sockets(BatchOptions& o, Text option, Text value) {
  return number(o.gpus.sockets_per_node, option, 1, kMostSockets)(value);
}

Status set_threads_per_core(BatchOptions& o, Text option, Text value) {
  uint32_t count = 0;
  GW_TRY_STATUS(number(count, option, 1, kMostCpus)(value));
  return set_threads(o, count);
}

void add_slurm_forms(std::vector<Option>& t, BatchOptions& o, uint8_t commands) {
  t.push_back(row("clusters", 'M', "NAMES", "this cluster must be among them", "CLUSTERS",
                  text_of_job(o.slurm.clusters, "-M/--clusters")));
  t.push_back(row("uid", 0, "USER", "one's own", {}, [&o](Text v) { return only_own(o, "uid", v, ::geteuid()); }));
  t.push_back(row("gid", 0, "GROUP", "one's own", {}, [&o](Text v) { return only_own(o, "gid", v, ::getegid()); }));
  add_sizes(t, o);
  if ((commands & (kByBatch | kByAlloc)) != 0) {
    t.push_back(row("get-user-env", 0, "[SECONDS][S|L]",
                    "the script has the variables that its user's login sets on the node, below those that go along",
                    "GET_USER_ENV", [&o](Text v) { return set_login_environment(o, v); }));
    t.back().arg = Arg::kOptional;
  }
  if ((commands & (kByBatch | kByRun)) != 0) {
    t.push_back(row("propagate", 0, "LIMITS", "resource limits that go along: ALL, NONE, or names as NOFILE,STACK",
                    "PROPAGATE", [&o](Text v) {
                      std::map<std::string, uint64_t> none;
                      o.slurm.propagate = v.empty() ? "ALL" : v;
                      return keep_propagated(o.slurm.propagate, none);
                    }));
    t.back().arg = Arg::kOptional;
  }
  if ((commands & kByBatch) != 0) {
    Option pbs = row(client::kPbsLeftOut, 0, "WHAT", {}, {}, [&o](Text v) {
      o.left_out.add(v, "nothing here answers to it");
      return Status{};
    });
    pbs.flags |= client::kHidden;
    t.push_back(std::move(pbs));
    t.push_back(row("export-file", 0, "FILE|FD", "more variables for the job, each NAME=value with a NUL behind it", {},
                    text_of_job(o.slurm.export_file, "--export-file")));
  }
  if ((commands & kByRun) != 0) return;  // it has these for its tasks
  t.push_back(row("overcommit", 'O', "", "a core on each node is enough, however many tasks there are", "OVERCOMMIT",
                  [&o](Text) {
                    o.spec.request.overcommit = true;
                    tell_steps(o, "SLURM_OVERCOMMIT", "1");
                    return Status{};
                  }));
  t.push_back(row("distribution", 'm', "block|cyclic|plane=N|arbitrary",
                  "of the job's steps: task numbers consecutive on a node, in turn, N in turn, or by SLURM_HOSTFILE",
                  "DISTRIBUTION", [&o](Text v) -> Status {
                    GW_TRY(how, parse_distribution(v));
                    tell_steps(o, "SLURM_DISTRIBUTION", std::string(how.text()));
                    if (how.text() == "plane") tell_steps(o, "SLURM_DIST_PLANESIZE", std::to_string(how.plane));
                    return {};
                  }));
  t.push_back(row("mem-bind", 0, "HOW", "of the job's steps: memory of a task", "MEM_BIND",
                  [&o](Text v) { return set_mem_bind(o, v); }));
}

Status set_hint(BatchOptions& o, Text value) {
  model::Request& r = o.spec.request;
  const bool is_for_memory = base::iequals(value, "memory_bound");
  if (std::exchange(o.slurm.is_for_memory, false)) r.tasks_per_socket = 0;  // a later hint takes an earlier one back
  if (base::iequals(value, "multithread")) {
    r.whole_cores = false;
    return {};
  }
  if (!is_for_memory && !base::iequals(value, "nomultithread") && !base::iequals(value, "compute_bound"))
    return invalid("--hint: \"" + base::printable(value, 40) + "\" is no hint",
                   "nomultithread, multithread, compute_bound and memory_bound are");
  r.whole_cores = true;
  if (!is_for_memory) return {};
  r.tasks_per_socket = 1;
  o.slurm.is_for_memory = true;
  return {};
}

Status apply_slurm_forms(BatchOptions& o) {
  GW_TRY_STATUS(divide_sockets(o));
  GW_TRY_STATUS(divide_gpus(o));
  model::Request& r = o.spec.request;
  if (!o.slurm.is_spread) return {};
  r.fit = model::Fit::kSpread;
  if (r.nodes_given || !r.tasks_given) return {};
  r.nodes_given = true;
  r.min_nodes = 1;
  r.max_nodes = std::min<uint32_t>(r.tasks, 1'000'000);
  return {};
}

std::string_view DistributionWords::text() const {
  if (is_arbitrary) return "arbitrary";
  return plane == attach::kBlock ? "block" : plane == attach::kCyclic ? "cyclic" : "plane";
}

base::Result<DistributionWords> parse_distribution(Text value) {
  const std::string all = base::to_lower(value.substr(0, value.find(',')));
  const std::string nodes = all.substr(0, all.find(':'));
  const Text packing = value.find(',') == Text::npos ? Text() : value.substr(value.find(',') + 1);
  const bool is_packing = packing.empty() || base::iequals(packing, "pack") || base::iequals(packing, "nopack");
  if (is_packing && (nodes == "block" || nodes == "*")) return DistributionWords{};
  if (is_packing && nodes == "cyclic") return DistributionWords{attach::kCyclic, false};
  if (is_packing && nodes == "arbitrary") return DistributionWords{attach::kBlock, true};
  constexpr Text kPlane = "plane=";
  if (is_packing && nodes.starts_with(kPlane)) {
    const auto size = base::parse_int(Text(nodes).substr(kPlane.size()), 1, kMostTasks, "plane");
    if (size) return DistributionWords{static_cast<uint32_t>(*size), false};
  }
  return invalid("option -m/--distribution: \"" + base::printable(value, 40) + "\" is not supported",
                 "choose block, cyclic, plane=N or arbitrary");
}

Status keep_propagated(Text names, std::map<std::string, uint64_t>& limits) {
  if (names.empty() || base::iequals(names, "ALL")) return {};
  static constexpr Text kKnown[] = {"AS", "CORE", "CPU", "DATA", "FSIZE", "MEMLOCK", "NOFILE", "NPROC", "RSS", "STACK"};
  std::vector<std::string> kept;
  for (const std::string& part : base::split(names, ',')) {
    std::string name(base::trim(part));
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::toupper(c); });
    if (name == "NONE") continue;
    if (std::find(std::begin(kKnown), std::end(kKnown), name) == std::end(kKnown))
      return invalid("--propagate: \"" + base::printable(part, 40) + "\" is no resource limit",
                     "ALL, NONE, " + base::join(std::vector<std::string>(std::begin(kKnown), std::end(kKnown)), ", "));
    kept.push_back(std::move(name));
  }
  std::erase_if(limits,
                [&](const auto& limit) { return std::find(kept.begin(), kept.end(), limit.first) == kept.end(); });
  return {};
}

base::Result<std::vector<std::string>> read_export_file(const std::string& file) {
  const std::string shown = "--export-file: " + base::printable(file, 200);
  const auto descriptor = base::parse_int(file, 3, 1 << 20, "descriptor");
  GW_TRY(bytes, descriptor ? read_descriptor(static_cast<int>(*descriptor), shown) : read_small_file(file, shown));
  std::vector<std::string> lines;
  for (std::string& line : base::split(bytes, '\0')) {
    if (base::trim(line).empty()) continue;
    if (line.find('=') == std::string::npos || line.front() == '=')
      return invalid("--export-file: \"" + base::printable(line, 60) + "\" is not NAME=value",
                     "a NUL byte separates the variables, as env -0 writes them");
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace gw::cmds
