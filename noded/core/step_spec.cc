// What the shepherd of a batch script, or of a step, is told: the implementation.
// Invariants: see step_spec.h.
#include "noded/core/step_spec.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "base/bitset.h"
#include "base/text.h"
#include "base/time.h"
#include "bind/places.h"
#include "model/job.h"
#include "model/output_path.h"
#include "noded/core/env_map.h"
#include "noded/core/job_env.h"
#include "noded/core/node_allocation.h"
#include "noded/core/queue_env.h"
#include "noded/core/step_env.h"
#include "wire/convert.h"

namespace gw::noded {

namespace {

constexpr uint32_t kSpecVersion = 1;
// A step whose client never says what to run.
constexpr base::Duration kLaunchLimit = base::seconds(60);

void set_files(const wire::Prepare& p, const NodeFacts& node, const UserInfo& user, wire::StepSpec& spec) {
  const wire::Launch& launch = p.spec().launch();
  model::PatternValues values;
  values.job_id = p.job();
  values.job_name = p.spec().name();
  values.user = user.name;
  values.node = node.name;
  const auto resolve = [&](std::string_view path) { return model::resolve_job_path(path, launch.work_dir(), values); };
  const bool is_in_array = p.spec().has_array();
  if (is_in_array) values.array = wire::from_wire(p.spec().array());
  spec.set_std_out(
      resolve(launch.std_out().empty() ? model::default_output(launch.slurm_names(), is_in_array) : launch.std_out()));
  spec.set_std_err(resolve(launch.std_err()));
  spec.set_std_in(launch.std_in().empty() ? "/dev/null" : resolve(launch.std_in()));
  spec.set_slurm_names(launch.slurm_names());
  if (spec.std_err() == spec.std_out()) spec.clear_std_err();  // one open file: no overwriting each other
}

void set_user(const UserInfo& user, const wire::JobSpec& job, wire::StepSpec& spec) {
  spec.set_uid(job.uid());
  // The group that the user submitted with (newgrp), where it is one of the user's own groups here.
  const bool is_member = std::find(user.groups.begin(), user.groups.end(), job.gid()) != user.groups.end();
  spec.set_gid(is_member ? job.gid() : user.gid);
  for (uint32_t group : user.groups) spec.add_groups(group);
  spec.set_user(user.name);
  spec.set_home(user.home);
}

void set_task_programs(const NodeFacts& node, wire::StepSpec& spec) {
  spec.set_task_prolog(node.task_prolog);
  spec.set_task_epilog(node.task_epilog);
  spec.set_task_program_limit_us(node.program_limit.us);
}

/// What the submission says of the variables of a login.
std::optional<uint32_t> login_seconds(std::string_view line) {
  const std::string_view name = kLoginVariable;
  if (!line.starts_with(name) || line.size() <= name.size() || line[name.size()] != '=') return std::nullopt;
  constexpr int64_t kMost = 600;
  const auto seconds = base::parse_int(line.substr(name.size() + 1), 1, kMost, name);
  return seconds ? static_cast<uint32_t>(*seconds) : 0;
}

void see_own_name(const NodeFacts& node, wire::StepSpec& spec) {
  spec.set_shown_node(node.name);
  if (!node.own_host_name) return;
  spec.set_node(node.name);
  for (const std::string& line : node.hosts) spec.add_hosts(line);
}

/// As Slurm calls it. What is dealt out by sockets or cores ends up as masks.
const char* kind_of(const bind::Binding& binding) {
  if (!binding.binds_cpus) return "NONE";
  switch (binding.cpu.way) {
    case bind::CpuWay::kRank:
      return "RANK";
    case bind::CpuWay::kMap:
      return "MAP";
    case bind::CpuWay::kRankLdom:
      return "LDRANK";
    case bind::CpuWay::kMapLdom:
      return "LDMAP";
    case bind::CpuWay::kMaskLdom:
      return "LDMASK";
    default:
      return "MASK";
  }
}

void set_manner(const NodeFacts& node, const bind::Binding& binding, wire::BindingManner& manner) {
  manner.set_only_records(node.is_emulated);
  manner.set_cpu_kind(kind_of(binding));
  manner.set_says_cpus(binding.cpu.says);
  manner.set_says_gpus(binding.gpu.says);
  manner.set_says_memory(binding.mem.says);
  manner.set_prefers_memory(binding.mem.prefers);
}

std::string nic_names(const wire::NodeTopology& topology, const bind::Place& place) {
  std::vector<std::string> names;
  for (const uint32_t nic : place.nics) names.push_back(topology.nics(static_cast<int>(nic)).name());
  return base::join(names, ",");
}

void set_access(const NodeFacts& node, const wire::StartStep& start, const bind::Binding& binding,
                wire::StepAccess& access) {
  access.set_ticket_key(start.ticket_key());
  access.set_listen(node.listen_host + ":0");
  access.set_ports(node.step_ports);
  access.set_step(start.step() - 1);
  access.set_generation(start.job().generation());
  access.set_launch_limit_us(kLaunchLimit.us);
  access.set_gpu_variable(gpu_variable(node, gpus_of(start.share())));
  for (const bind::Place& place : binding.places) {
    wire::TaskPlace& told = *access.add_places();
    if (binding.binds_gpus) told.set_gpus(visible_indices(node, start.job().share(), place.gpus.to_vector()));
    if (binding.binds_cpus) told.set_cpus(place.pus.text());
    if (binding.binds_memory) told.set_mems(place.mems.text());
    told.set_nics(nic_names(node.topology, place));
    told.set_problem(place.problem);
  }
  set_manner(node, binding, *access.mutable_binding());
}

}  // namespace

wire::StepSpec make_step_spec(const NodeFacts& node, const wire::Prepare& prepare, const UserInfo& user,
                              base::Time now) {
  const wire::Launch& launch = prepare.spec().launch();
  const RunKey run{prepare.job(), prepare.attempt(), 0};
  wire::StepSpec spec;
  spec.set_version(kSpecVersion);
  spec.set_job(run.job);
  spec.set_attempt(run.attempt);
  spec.set_step(run.step_name());
  spec.set_dir(node.steps_dir + "/" + run.text());
  set_user(user, prepare.spec(), spec);
  spec.set_script(prepare.script());
  *spec.mutable_args() = launch.args();
  for (std::string& line : job_environment(node, prepare, user, now)) {
    if (const auto login = login_seconds(line)) {
      spec.set_login_seconds(*login);
      continue;
    }
    if (line == "PBS_NODEFILE=" + spec.dir() + "/" + kSlotsFile) spec.set_slots(pbs_node_lines(prepare.gang()));
    if (line == "PE_HOSTFILE=" + spec.dir() + "/" + kSlotsFile) spec.set_slots(sge_host_lines(prepare));
    spec.add_env(std::move(line));
  }
  spec.set_work_dir(launch.work_dir());
  set_files(prepare, node, user, spec);
  set_task_programs(node, spec);
  spec.set_append(launch.append_output());
  spec.set_umask(launch.umask());
  *spec.mutable_limits() = launch.limits();
  *spec.mutable_containment() = make_containment(node, prepare);
  see_own_name(node, spec);
  spec.set_wait_for_go(!prepare.go());
  spec.set_lease_us(prepare.lease_us());
  spec.set_allow_root(prepare.allow_root());
  return spec;
}

wire::StepSpec make_access_spec(const NodeFacts& node, const wire::StartStep& start, const UserInfo& user,
                                base::Time now, const base::IndexSet& unclaimed) {
  const wire::Prepare& job = start.job();
  const RunKey run{job.job(), job.attempt(), start.step()};
  wire::StepSpec spec;
  spec.set_version(kSpecVersion);
  spec.set_job(run.job);
  spec.set_attempt(run.attempt);
  spec.set_step(run.step_name());
  spec.set_dir(node.steps_dir + "/" + run.text());
  set_user(user, job.spec(), spec);
  const bind::Binding binding = bind::bind_tasks(node.topology, start.share(), start.request(), unclaimed);
  for (std::string& line : step_environment(node, start, binding, user, now)) spec.add_env(std::move(line));
  *spec.mutable_containment() = step_containment(node, run, "");
  see_own_name(node, spec);
  spec.set_lease_us(job.lease_us());
  spec.set_allow_root(job.allow_root());
  set_access(node, start, binding, *spec.mutable_access());
  set_task_programs(node, spec);
  return spec;
}

}  // namespace gw::noded
