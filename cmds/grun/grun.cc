// grun (srun): runs a command as the tasks of a step, in an allocation that is there or in a new one.
// Invariants: what is wrong with the call is said before the controller is asked; the exit code is that of the tasks.
#include <fmt/format.h>
#include <limits.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "base/text.h"
#include "client/options/in_effect.h"
#include "cmds/grun/run_session.h"
#include "cmds/grun/run_values.h"
#include "cmds/request/batch_script.h"
#include "cmds/request/components.h"
#include "cmds/request/slurm_forms.h"
#include "cmds/request/waiting_options.h"
#include "cmds/shared/commands.h"
#include "cmds/shared/job_ids.h"
#include "model/job_variables.h"
#include "wire/convert.h"

namespace gw::cmds {
namespace {

using base::Result;
using base::Status;
using client::Program;

const char* environment(const char* name) { return std::getenv(name); }

Result<std::string> work_dir(const std::string& chdir) {
  if (chdir.starts_with('/')) return chdir;
  char here[PATH_MAX];
  if (::getcwd(here, sizeof here) == nullptr)
    return base::fail_errno("the current directory cannot be found", errno, "change to another, or use --chdir");
  return chdir.empty() ? std::string(here) : std::string(here) + "/" + chdir;
}

/// Without what the job, step or task that this runs in was told: the step has its own. Of a step of another job that
/// goes also for what tells of the array.
std::vector<std::string> environment_of_steps(uint32_t job) {
  std::vector<std::string> lines = present_environment();
  const uint32_t enclosing = facts_of_environment(environment).id;
  if (enclosing == 0) return lines;
  std::erase_if(lines, [&](const std::string& line) {
    const std::string_view name = std::string_view(line).substr(0, line.find('='));
    const bool is_same_job = job == 0 || job == enclosing;
    return model::is_job_variable(name) && !(is_same_job && model::is_kept_in_steps(name));
  });
  return lines;
}

/// What --preserve-env means.
std::vector<std::string> preserved_variables() {
  std::vector<std::string> out;
  for (const std::string& line : present_environment())
    for (const std::string prefix : {"SLURM_", "GANGWAY_"})
      for (const char* name : {"JOB_NUM_NODES=", "NNODES=", "NTASKS=", "NPROCS="})
        if (line.starts_with(prefix + name)) out.push_back(line);
  return out;
}

Result<LaunchContext> make_context(const RunOptions& o) {
  LaunchContext c;
  GW_TRY(block, export_environment(o.job.export_form, environment_of_steps(o.het_groups.empty() ? o.job_id : 0)));
  c.environment = base::split(block, '\0');
  std::erase_if(c.environment, [](const std::string& line) { return line.empty(); });
  if (o.preserves_env) c.preserved = preserved_variables();
  GW_TRY(dir, work_dir(o.job.chdir));
  c.work_dir = std::move(dir);
  c.limits = present_limits();
  GW_TRY_STATUS(keep_propagated(o.job.slurm.propagate, c.limits));
  c.umask = present_umask();
  c.environment.push_back(fmt::format("SLURM_UMASK={:04o}", c.umask));
  const passwd* user = ::getpwuid(::getuid());
  c.user = user == nullptr ? std::to_string(::getuid()) : user->pw_name;
  return c;
}

Result<std::string> read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return base::fail_errno("cannot read " + base::printable(path), errno);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::string name_of(const RunOptions& o, const std::vector<std::string>& operands) {
  if (!o.job.spec.name.empty() || operands.empty()) return o.job.spec.name;
  const std::string& command = operands.front();
  return command.substr(command.rfind('/') + 1);
}

/// What the job of a component is, beside what it asks for.
void set_job(const Program& program, const RunPlan& plan, Args args, model::JobSpec& spec) {
  const RunOptions& o = plan.options();
  spec.kind = plan.members.size() == 1 ? model::JobKind::kStep : model::JobKind::kAllocation;
  spec.attended = !o.keep;
  spec.not_preemptible = !o.preemptible;
  spec.requeue = false;
  spec.launch.work_dir = plan.context.work_dir;
  spec.launch.umask = plan.context.umask;
  spec.launch.slurm_names = program.is_slurm;
  spec.submit_host = host_name();
  spec.submit_line = submit_line(program.name, args);
}

/// A component for each member.
Status plan_allocation(const Program& program, RunPlan& plan, Args args, std::vector<std::string>& notes) {
  if (plan.members.size() > 1 && plan.options().keep)
    return base::invalid("--keep and --detach do not go with parts that have an allocation of their own",
                         "call it below galloc or in a batch script");
  const BatchOptions whole = plan.options().job;
  for (MemberStep& member : plan.members) {
    const bool is_first = &member == &plan.members.front();
    const std::string name = member.options.job.spec.name;  // of the step; the job has that of the first
    if (!is_first) {
      if (std::string text = member.options.job.left_out.text(); !text.empty()) notes.push_back(std::move(text));
      BatchOptions component = whole;
      take_resources(component, member.options.job);
      member.options.job = std::move(component);
    }
    std::vector<std::string> unsaid;  // what is left out is the same for each
    GW_TRY(step, step_outside(member.options, is_first ? notes : unsaid));
    member.step = std::move(step);
    member.step.name = name;
    set_job(program, plan, args, member.options.job.spec);
    *(is_first ? plan.submit.mutable_spec() : plan.submit.add_components()) = wire::to_wire(member.options.job.spec);
  }
  plan.submit.set_test_only(plan.options().test_only);
  return {};
}

/// Inside an allocation.
Status plan_member(MemberStep& member, std::vector<std::string>& notes) {
  const JobFacts facts = facts_of_environment(environment);
  GW_TRY_STATUS(apply_slurm_forms(member.options.job));
  if (std::string text = member.options.job.left_out.text(); !text.empty()) notes.push_back(std::move(text));
  if (member.job.id == 0) member.job.id = facts.id;
  member.knows_size = member.job.id == facts.id;
  if (!member.knows_size) return {};
  member.job = facts;
  GW_TRY(step, step_inside(member.options, facts));
  member.step = std::move(step);
  return {};
}

Status make_plan(const Program& program, RunPlan& plan, Args args, std::vector<std::string>& notes) {
  RunOptions& o = plan.options();
  GW_TRY(context, make_context(o));
  plan.context = std::move(context);
  plan.context.slurm_texts = program.is_slurm;
  GW_TRY_STATUS(check_signal_of_steps(o.job.spec));
  if (o.multi_prog && o.bcast)
    return base::invalid("--bcast copies one program: it does not go with --multi-prog", "send them with gbcast");
  if (o.multi_prog) {
    GW_TRY(text, read_file(plan.words().front()));
    plan.multi_prog = std::move(text);
  }
  for (MemberStep& member : plan.members) {
    member.options.job.spec.name = name_of(member.options, member.parts.front().command);
    if (plan.members.size() == 1) GW_TRY_STATUS(read_hosts(member.options, environment));
  }
  if (const char* hosts = environment("SLURM_HOSTFILE"); plan.members.size() > 1 && hosts != nullptr && *hosts != '\0')
    notes.emplace_back(
        "SLURM_HOSTFILE is not looked at where parts are steps of their own: -w names the nodes of each");
  const uint32_t enclosing = facts_of_environment(environment).id;
  plan.context.is_inside = enclosing != 0 || plan.members.front().job.id != 0;
  if (!plan.context.is_inside) return plan_allocation(program, plan, args, notes);
  for (MemberStep& member : plan.members) GW_TRY_STATUS(plan_member(member, notes));
  return {};
}

Status make_members(RunPlan& plan, RunOptions first, const std::vector<std::string>& words, base::Time now) {
  const bool is_inside = facts_of_environment(environment).id != 0;
  if (words.empty()) return base::invalid("No command given to execute.", "name a program");
  GW_TRY(parts, read_parts(std::move(first), words, {environment, now, is_inside}));
  GW_TRY(members, members_of(std::move(parts), environment));
  plan.members = std::move(members);
  return {};
}

}  // namespace

int run_grun(const Program& called, Args args) {
  RunPlan plan;
  RunOptions o;
  client::CommonFlags flags;
  client::OptionsInEffect seen;
  const base::Time now = base::SystemClock().now();
  auto table = run_table(o, flags, now);
  seen.watch(table);
  const bool is_inside = facts_of_environment(environment).id != 0;
  const Status read = read_run_environment(table, environment, is_inside);
  o.is_distribution_of_environment = o.distribution.is_arbitrary;
  Parsed parsed = parse_command(called, run_doc(), table, flags, args, client::kExitUsage, {.stop_at_operand = true});
  if (parsed.exit) return *parsed.exit;
  if (!read) return failed(called, read.error());
  const Program program = o.quiet ? called : client::outspoken(called, seen, client::OptionFrame::kSubmits);
  if (!o.array_task.empty()) {
    const auto id = number_of(program, {{}, o.array_task});
    if (!id) return failed(program, id.error());
    o.job_id = *id;
  }
  if (const Status job = check_job_of_environment(environment); !job && o.job_id == 0)
    return failed(program, job.error());
  if (o.mpi_list) return printed("MPI plugin types are...\n\tpmix\n\tnone\n");
  if (const Status made = make_members(plan, o, parsed.operands, now); !made) return failed(program, made.error());
  std::vector<std::string> notes;
  if (Status made = make_plan(program, plan, args, notes); !made)
    return failed(program, as_refused(program, "Unable to allocate resources: ", made.error()));
  if (!o.quiet)
    for (const std::string& note : notes) client::print_note(program, "warning: " + note);
  if (o.test_only) return plan.context.is_inside ? client::kExitOk : test_submission(program, std::move(plan.submit));
  auto config = client::load_config();
  if (!config) return failed(program, config.error());
  if (Status own = check_clusters(o.job.slurm.clusters, config->cluster); !own) return failed(program, own.error());
  const int code = RunSession(program, std::move(*config), std::move(plan)).run();
  std::fflush(nullptr);
  std::_Exit(code);  // a request that is still under way has a thread
}

}  // namespace gw::cmds
