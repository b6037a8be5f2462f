// Plans of nodes.
#include "cmds/grun/run_launch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "auth/crypto.h"
#include "base/hostlist.h"
#include "base/text.h"
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

struct Planner {
  const wire::Step& step;
  const RunOptions& o;
  const LaunchContext& context;
  std::vector<std::vector<uint32_t>> ranks;

  model::PatternValues values(size_t node, uint32_t rank) const {
    model::PatternValues v;
    v.job_id = step.job();
    v.step = std::to_string(step.step());
    v.job_name = step.request().name();
    v.user = context.user;
    v.node = step.nodes(static_cast<int>(node)).share().node();
    v.node_index = static_cast<uint32_t>(node);
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
    const std::string how(o.distribution.text());
    for (const std::string prefix : {"SLURM_", "GANGWAY_"}) {
      launch.add_env(prefix + "GTIDS=" + list);
      launch.add_env(prefix + "DISTRIBUTION=" + how);
      if (how == "plane") launch.add_env(prefix + "DIST_PLANESIZE=" + std::to_string(o.distribution.plane));
      if (ranks[node].size() > kManyTasks) continue;
      for (wire::TaskOrder& task : *launch.mutable_tasks()) task.add_env(prefix + "GTIDS=" + list);
    }
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
    l.set_work_dir(context.work_dir);
    l.set_umask(context.umask);
    l.mutable_limits()->insert(context.limits.begin(), context.limits.end());
    l.set_append(o.append);
    l.set_pty(o.pty && node == 0);
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

/// What the tasks of all nodes must know of each other to be one MPI program.
void add_pmix(std::vector<attach::NodePlan>& plans, const RunOptions& o, const attach::Distribution& how) {
  wire::PmixLaunch pmix;
  const auth::Bytes32 secret = auth::random_bytes32();
  pmix.set_secret(std::string(auth::view(secret)));
  pmix.set_is_cyclic(how.plane == attach::kCyclic);
  pmix.set_plane(how.plane);
  pmix.mutable_nodes_of()->Assign(how.nodes_of.begin(), how.nodes_of.end());
  pmix.set_is_optional(!o.pmix);
  std::vector<std::string> names;
  for (const attach::NodePlan& plan : plans) {
    names.push_back(plan.node);
    pmix.add_tasks(static_cast<uint32_t>(plan.launch.tasks_size()));
  }
  pmix.set_nodes(base::compress_hostlist(names));
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
  const Planner planner{step, o, context, {}};
  return model::resolve_job_path(with_step_of_job(redirect.path), context.work_dir, planner.values(0, 0));
}

Redirect error_of(const RunOptions& o) {
  if (o.error.to != To::kUnset) return o.error;
  return o.output.to == To::kAll ? Redirect{} : o.output;
}

uint32_t task_count(const wire::Step& step) {
  uint32_t tasks = 0;
  for (const wire::StepNode& node : step.nodes()) tasks += node.share().tasks();
  return tasks;
}

Result<std::vector<attach::NodePlan>> make_plans(const wire::Step& step, const RunOptions& o, const Commands& commands,
                                                 const LaunchContext& context) {
  const uint32_t tasks = task_count(step);
  GW_TRY_STATUS(check_task(o.input, tasks, "-i/--input"));
  GW_TRY_STATUS(check_task(o.output, tasks, "-o/--output"));
  GW_TRY_STATUS(check_task(o.error, tasks, "-e/--error"));
  std::vector<uint32_t> counts;
  for (const wire::StepNode& node : step.nodes()) counts.push_back(node.share().tasks());
  const attach::Distribution how = attach::distribution_of(step);
  const Planner planner{step, o, context, attach::distribute(counts, how)};
  std::vector<attach::NodePlan> plans;
  for (size_t i = 0; i < counts.size(); ++i) {
    const wire::StepNode& node = step.nodes(static_cast<int>(i));
    attach::NodePlan plan{node.share().node(), node.address(), {}, planner.launch(i)};
    if (node.key().size() != plan.key.size())
      return base::fail(base::ErrorCode::kProtocol, "the controller gave no key of the shepherd on " + plan.node);
    std::memcpy(plan.key.data(), node.key().data(), plan.key.size());
    add_programs(plan.launch, commands);
    plans.push_back(std::move(plan));
  }
  if (o.pmix.value_or(true)) add_pmix(plans, o, how);
  return plans;
}

std::vector<std::string> launch_lines(const wire::Step& step, const std::vector<attach::NodePlan>& plans) {
  std::vector<std::string> names;
  std::vector<std::pair<uint32_t, size_t>> cpus;  // how many, on how many nodes in a row
  for (const wire::StepNode& node : step.nodes()) {
    names.push_back(node.share().node());
    if (cpus.empty() || cpus.back().first != node.share().cpus()) cpus.emplace_back(node.share().cpus(), 0);
    ++cpus.back().second;
  }
  std::string counts;
  for (const auto& [count, nodes] : cpus) counts += fmt::format("{}{}(x{})", counts.empty() ? "" : ",", count, nodes);
  std::vector<std::string> out = {fmt::format("jobid {}: nodes({}):`{}', cpu counts: {}", step.job(), names.size(),
                                              base::compress_hostlist(names), counts)};
  for (const attach::NodePlan& plan : plans) {
    std::vector<std::string> ranks;
    for (const wire::TaskOrder& task : plan.launch.tasks()) ranks.push_back(std::to_string(task.rank()));
    const std::string list = base::compress_hostlist(ranks);
    out.push_back(fmt::format("launching StepId={}.{} on host {}, {} tasks: {}", step.job(), step.step(), plan.node,
                              ranks.size(), list));
  }
  return out;
}

}  // namespace gw::cmds
