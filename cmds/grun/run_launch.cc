// Plans of nodes.
#include "cmds/grun/run_launch.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>
#include <set>
#include <span>

#include "auth/crypto.h"
#include "base/hostlist.h"
#include "base/text.h"
#include "io/address.h"
#include "io/fd.h"
#include "model/output_path.h"

namespace gw::cmds {
namespace {

using base::invalid;
using base::Result;
using To = Redirect::To;

bool is_pattern_letter(char c) { return c == 't' || c == 'n' || c == 'N'; }

/// %J is the job with its step; other commands have no step.
std::string with_step_of_job(const std::string& path) {
  std::string out;
  for (size_t i = 0; i < path.size(); ++i) {
    if (path[i] == '%' && i + 1 < path.size() && (path[i + 1] == 'J' || path[i + 1] == '%')) {
      out += path[i + 1] == 'J' ? "%j.%s" : "%%";
      ++i;
    } else {
      out += path[i];
    }
  }
  return out;
}

/// Of one of the steps, as part of the whole.
struct Planner {
  const wire::Step& step;
  const RunOptions& own;    ///< Of the step.
  const wire::Step& first;  ///< After which files are named,
  const RunOptions& o;      ///< and which says what holds for all.
  const LaunchContext& context;
  uint32_t nodes_before = 0;
  std::vector<std::vector<uint32_t>> ranks = {};
  std::vector<std::string> shape = {};  ///< What tasks are told of the whole, where there are several steps.

  model::PatternValues values(size_t node, uint32_t rank) const {
    model::PatternValues v;
    v.job_id = first.job();
    v.step = std::to_string(first.step());
    v.job_name = first.request().name();
    v.user = context.user;
    v.node = step.nodes(static_cast<int>(node)).share().node();
    v.node_index = nodes_before + static_cast<uint32_t>(node);
    v.task = rank;
    return v;
  }

  wire::TaskStream stream(const Redirect& redirect, size_t node, uint32_t rank) const {
    wire::TaskStream s;
    const bool is_mine = redirect.to == To::kUnset || redirect.to == To::kAll ||
                         (redirect.to == To::kTask && redirect.task == rank) ||
                         (redirect.to == To::kFile && !is_opened_there(redirect));
    s.set_kind(is_mine ? wire::TaskStream::kClient : wire::TaskStream::kNothing);
    if (is_opened_there(redirect)) {
      s.set_kind(wire::TaskStream::kFile);
      s.set_path(model::resolve_job_path(with_step_of_job(redirect.path), context.work_dir, values(node, rank)));
    }
    return s;
  }

  Redirect input() const {
    if (o.pty && o.input.to == To::kUnset) return {To::kTask, 0, {}};
    return o.input;
  }

  void add_task(wire::LaunchTasks& launch, size_t node, size_t place) const {
    const uint32_t rank = ranks[node][place];
    wire::TaskOrder& task = *launch.add_tasks();
    task.set_rank(rank);
    *task.mutable_input() = stream(input(), node, rank);
    *task.mutable_output() = stream(o.output, node, rank);
    *task.mutable_error() = stream(error_of(o), node, rank);
    for (const char* prefix : {"SLURM_", "GANGWAY_"}) {
      task.add_env(prefix + ("PROCID=" + std::to_string(rank)));
      task.add_env(prefix + ("LOCALID=" + std::to_string(place)));
    }
    for (const std::string& line : context.preserved) task.add_env(line);
  }

  /// Over what the job's variables say of its own script. Long lists of ranks are told once for all tasks.
  void add_layout(wire::LaunchTasks& launch, size_t node) const {
    constexpr size_t kManyTasks = 256;
    std::string list;
    for (const uint32_t rank : ranks[node]) list += (list.empty() ? "" : ",") + std::to_string(rank);
    const std::string how(own.distribution.text());
    if (!context.address.empty())
      for (const char* name : {"LAUNCH_NODE_IPADDR=", "SRUN_COMM_HOST="})
        for (const std::string prefix : {"SLURM_", "GANGWAY_"}) launch.add_env(prefix + name + context.address);
    for (const std::string prefix : {"SLURM_", "GANGWAY_"}) {
      launch.add_env(prefix + "GTIDS=" + list);
      launch.add_env(prefix + "DISTRIBUTION=" + how);
      if (how == "plane") launch.add_env(prefix + "DIST_PLANESIZE=" + std::to_string(own.distribution.plane));
      if (ranks[node].size() > kManyTasks) continue;
      for (wire::TaskOrder& task : *launch.mutable_tasks()) task.add_env(prefix + "GTIDS=" + list);
    }
  }

  void add_shape(wire::LaunchTasks& launch, size_t node) const {
    if (shape.empty()) return;
    for (const std::string& line : shape) launch.add_shape_env(line);
    for (const char* prefix : {"SLURM_", "GANGWAY_"})
      launch.add_shape_env(fmt::format("{}NODEID={}", prefix, nodes_before + node));
  }

  void add_limit(wire::LaunchTasks& launch) const {
    const model::JobSpec& spec = o.job.spec;
    if (spec.time_limit == base::kUnlimited || spec.time_limit.us <= 0) return;  // the job's alone
    launch.set_time_limit_us(spec.time_limit.us);
    launch.set_warn_signo(static_cast<uint32_t>(spec.warn.signo));
    launch.set_warn_before_us(base::seconds(spec.warn.seconds_before).us);
  }

  wire::LaunchTasks launch(size_t node) const {
    wire::LaunchTasks l;
    for (size_t place = 0; place < ranks[node].size(); ++place) add_task(l, node, place);
    for (const std::string& line : context.environment) l.add_env(line);
    add_layout(l, node);
    add_shape(l, node);
    l.set_work_dir(context.work_dir);
    l.set_umask(context.umask);
    l.mutable_limits()->insert(context.limits.begin(), context.limits.end());
    l.set_append(o.append);
    l.set_pty(o.pty && nodes_before + node == 0);
    l.set_rows(context.rows);
    l.set_columns(context.columns);
    l.set_keep(o.keep);
    l.set_kill_on_bad_exit(o.kill_on_bad_exit);
    l.set_slurm_texts(context.slurm_texts);
    l.set_task_prolog(o.task_prolog);
    l.set_task_epilog(o.task_epilog);
    if (context.is_inside) add_limit(l);
    return l;
  }
};

/// What gnoded says of a single step, of all of them.
std::vector<std::string> shape_of(const std::vector<StepToLaunch>& steps) {
  std::vector<std::string> names;
  std::vector<uint32_t> tasks;
  for (const StepToLaunch& one : steps)
    for (const wire::StepNode& node : one.step.nodes()) {
      names.push_back(node.share().node());
      tasks.push_back(node.share().tasks());
    }
  const std::string all = std::to_string(std::accumulate(tasks.begin(), tasks.end(), uint64_t{0}));
  const std::string list = base::compress_counts(tasks), nodes = std::to_string(names.size());
  std::vector<std::string> out;
  for (const std::string prefix : {"SLURM_", "GANGWAY_"}) {
    out.push_back(prefix + "STEP_NODELIST=" + base::compress_hostlist(names));
    for (const char* name : {"STEP_NUM_NODES=", "NNODES="}) out.push_back(prefix + name + nodes);
    for (const char* name : {"STEP_NUM_TASKS=", "NTASKS=", "NPROCS="}) out.push_back(prefix + name + all);
    for (const char* name : {"STEP_TASKS_PER_NODE=", "TASKS_PER_NODE="}) out.push_back(prefix + name + list);
  }
  return out;
}

/// A node that is in two of the steps has a helper in each: to MPI these are two nodes.
std::vector<std::string> distinct_names(const std::vector<attach::NodePlan>& plans) {
  std::vector<std::string> names;
  std::set<std::string> taken;
  for (const attach::NodePlan& plan : plans) {
    std::string name = plan.node;
    for (int k = 1; !taken.insert(name).second; ++k) name = fmt::format("{}_{}", plan.node, k);
    names.push_back(std::move(name));
  }
  return names;
}

/// Who has which rank, in the shortest way.
void add_ranks(wire::PmixLaunch& pmix, const std::vector<StepToLaunch>& steps,
               const std::vector<attach::NodePlan>& plans) {
  const attach::Distribution how = attach::distribution_of(steps.front().step);
  const bool are_blocks = std::all_of(steps.begin(), steps.end(), [](const StepToLaunch& one) {
    return attach::distribution_of(one.step) == attach::Distribution{attach::kBlock};
  });
  if (steps.size() == 1 || are_blocks) {
    pmix.set_is_cyclic(how.plane == attach::kCyclic);
    pmix.set_plane(how.plane);
    pmix.mutable_nodes_of()->Assign(how.nodes_of.begin(), how.nodes_of.end());
    return;
  }
  std::map<uint32_t, uint32_t> node_of;
  for (uint32_t node = 0; node < plans.size(); ++node)
    for (const wire::TaskOrder& task : plans[node].launch.tasks()) node_of[task.rank()] = node;
  for (const auto& [rank, node] : node_of) pmix.add_nodes_of(node);
}

/// What the tasks of all nodes must know of each other to be one MPI program.
void add_pmix(std::vector<attach::NodePlan>& plans, const std::vector<StepToLaunch>& steps) {
  wire::PmixLaunch pmix;
  const auth::Bytes32 secret = auth::random_bytes32();
  pmix.set_secret(std::string(auth::view(secret)));
  pmix.set_is_optional(!steps.front().options.pmix);
  add_ranks(pmix, steps, plans);
  for (const attach::NodePlan& plan : plans) pmix.add_tasks(static_cast<uint32_t>(plan.launch.tasks_size()));
  pmix.set_nodes(base::compress_hostlist(distinct_names(plans)));
  const wire::Step& first = steps.front().step;
  if (steps.size() > 1) pmix.set_name(fmt::format("gangway.{}.{}.{}", first.job(), first.attempt(), first.step()));
  for (uint32_t i = 0; i < plans.size(); ++i) {
    *plans[i].launch.mutable_pmix() = pmix;
    plans[i].launch.mutable_pmix()->set_self(i);
  }
}

void add_program(wire::LaunchTasks& launch, const std::vector<std::string>& words) {
  wire::Program& program = *launch.add_programs();
  for (const std::string& word : words) program.add_argv(word);
}

/// Equal commands are told once.
void add_programs(wire::LaunchTasks& launch, const Commands& commands) {
  if (commands.size() == 1) return add_program(launch, commands.front());
  std::map<std::vector<std::string>, uint32_t> known;
  for (wire::TaskOrder& task : *launch.mutable_tasks()) {
    const auto& words = commands[task.rank()];
    const auto [entry, is_new] = known.try_emplace(words, static_cast<uint32_t>(known.size()));
    if (is_new) add_program(launch, words);
    task.set_program(entry->second);
  }
}

std::vector<std::vector<uint32_t>> ranks_of(const wire::Step& step, uint32_t tasks_before) {
  std::vector<uint32_t> counts;
  for (const wire::StepNode& node : step.nodes()) counts.push_back(node.share().tasks());
  auto ranks = attach::distribute(counts, attach::distribution_of(step));
  for (auto& of_node : ranks)
    for (uint32_t& rank : of_node) rank += tasks_before;
  return ranks;
}

Result<attach::NodePlan> plan_of_node(const Planner& planner, size_t index) {
  const wire::StepNode& node = planner.step.nodes(static_cast<int>(index));
  attach::NodePlan plan{node.share().node(), node.address(), {}, planner.launch(index)};
  if (node.key().size() != plan.key.size())
    return base::fail(base::ErrorCode::kProtocol, "the controller gave no key of the shepherd on " + plan.node);
  std::memcpy(plan.key.data(), node.key().data(), plan.key.size());
  return plan;
}

void add_lines(const wire::Step& step, std::span<const attach::NodePlan> plans, std::vector<std::string>& out) {
  std::vector<std::string> names;
  std::vector<std::pair<uint32_t, size_t>> cpus;  // how many, on how many nodes in a row
  for (const wire::StepNode& node : step.nodes()) {
    names.push_back(node.share().node());
    if (cpus.empty() || cpus.back().first != node.share().cpus()) cpus.emplace_back(node.share().cpus(), 0);
    ++cpus.back().second;
  }
  std::string counts;
  for (const auto& [count, nodes] : cpus) counts += fmt::format("{}{}(x{})", counts.empty() ? "" : ",", count, nodes);
  out.push_back(fmt::format("jobid {}: nodes({}):`{}', cpu counts: {}", step.job(), names.size(),
                            base::compress_hostlist(names), counts));
  for (const attach::NodePlan& plan : plans) {
    std::vector<std::string> ranks;
    for (const wire::TaskOrder& task : plan.launch.tasks()) ranks.push_back(std::to_string(task.rank()));
    out.push_back(fmt::format("launching StepId={}.{} on host {}, {} tasks: {}", step.job(), step.step(), plan.node,
                              ranks.size(), base::compress_hostlist(ranks)));
  }
}

base::Status check_task(const Redirect& redirect, uint32_t tasks, std::string_view option) {
  if (redirect.to != To::kTask || redirect.task < tasks) return {};
  return invalid("option " + std::string(option) + ": there is no task " + std::to_string(redirect.task) +
                     ": the step has " + std::to_string(tasks),
                 "a file of that name is written ./" + std::to_string(redirect.task));
}

}  // namespace

bool is_opened_there(const Redirect& redirect) {
  const std::string& path = redirect.path;
  if (redirect.to != To::kFile || path.find('\\') != std::string::npos) return false;
  for (size_t i = 0; i < path.size(); ++i) {
    if (path[i] != '%') continue;
    ++i;
    while (i < path.size() && path[i] >= '0' && path[i] <= '9') ++i;
    if (i < path.size() && is_pattern_letter(path[i])) return true;
  }
  return false;
}

std::string local_path(const Redirect& redirect, const wire::Step& step, const RunOptions& o,
                       const LaunchContext& context) {
  const Planner planner{step, o, step, o, context};
  return model::resolve_job_path(with_step_of_job(redirect.path), context.work_dir, planner.values(0, 0));
}

Redirect error_of(const RunOptions& o) {
  if (o.error.to != To::kUnset) return o.error;
  return o.output.to == To::kAll ? Redirect{} : o.output;
}

// No packet is sent: the system only looks up the way.
std::string own_address_towards(const std::string& node_address) {
  const auto parsed = io::parse_address(node_address);
  if (!parsed || parsed->is_unix() || io::needs_lookup(*parsed)) return {};
  const auto addresses = io::resolve(*parsed);
  if (!addresses) return {};
  for (const io::SockAddr& to : *addresses) {
    const io::Fd fd(::socket(to.storage.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (fd && ::connect(fd.get(), to.get(), to.size) == 0) return io::local_address(fd.get()).host();
  }
  return {};
}

uint32_t task_count(const wire::Step& step) {
  uint32_t tasks = 0;
  for (const wire::StepNode& node : step.nodes()) tasks += node.share().tasks();
  return tasks;
}

uint32_t task_count(const std::vector<wire::Step>& steps) {
  uint32_t tasks = 0;
  for (const wire::Step& step : steps) tasks += task_count(step);
  return tasks;
}

Result<std::vector<attach::NodePlan>> make_plans(const std::vector<StepToLaunch>& steps, const Commands& commands,
                                                 const LaunchContext& context) {
  const RunOptions& o = steps.front().options;
  uint32_t tasks = 0;
  for (const StepToLaunch& one : steps) tasks += task_count(one.step);
  GW_TRY_STATUS(check_task(o.input, tasks, "-i/--input"));
  GW_TRY_STATUS(check_task(o.output, tasks, "-o/--output"));
  GW_TRY_STATUS(check_task(o.error, tasks, "-e/--error"));
  const std::vector<std::string> shape = steps.size() > 1 ? shape_of(steps) : std::vector<std::string>();
  std::vector<attach::NodePlan> plans;
  uint32_t tasks_before = 0;
  for (const StepToLaunch& one : steps) {
    const Planner planner{one.step,
                          one.options,
                          steps.front().step,
                          o,
                          context,
                          static_cast<uint32_t>(plans.size()),
                          ranks_of(one.step, tasks_before),
                          shape};
    for (size_t i = 0; i < planner.ranks.size(); ++i) {
      GW_TRY(plan, plan_of_node(planner, i));
      add_programs(plan.launch, commands);
      plans.push_back(std::move(plan));
    }
    tasks_before += task_count(one.step);
  }
  if (o.pmix.value_or(true)) add_pmix(plans, steps);
  return plans;
}

std::vector<std::string> launch_lines(const std::vector<wire::Step>& steps,
                                      const std::vector<attach::NodePlan>& plans) {
  std::vector<std::string> out;
  auto plan = plans.begin();
  for (const wire::Step& step : steps) {
    const auto end = plan + step.nodes_size();
    add_lines(step, {plan, end}, out);
    plan = end;
  }
  return out;
}

}  // namespace gw::cmds
