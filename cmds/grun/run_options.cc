// The option table of grun.
#include "cmds/grun/run_options.h"

#include <algorithm>
#include <set>

#include "base/text.h"
#include "cmds/grun/run_values.h"
#include "cmds/request/job_values.h"
#include "cmds/request/slurm_forms.h"
#include "cmds/request/slurm_options.h"
#include "cmds/request/waiting_options.h"
#include "cmds/shared/commands.h"
#include "model/job_variables.h"

namespace gw::cmds {
namespace {

using base::invalid;
using base::Status;
using client::Arg;
using client::kHidden;
using client::kPlain;
using client::kRaw;
using client::Option;
using Text = std::string_view;

constexpr int64_t kMaxSeconds = int64_t{365} * 24 * 3600;

client::Handler redirects(Redirect& to, Text option) {
  return [&to, option](Text v) -> Status {
    if (v.empty()) return invalid("option " + std::string(option) + " needs a value");
    to = parse_redirect(v);
    return {};
  };
}

void add_streams(std::vector<Option>& t, RunOptions& o) {
  t.push_back({"input", 'i', Arg::kRequired, "all|none|TASK|FILE",
               "standard input: of all tasks, none, one task alone, or a file; patterns %j %J %s %u, %t %N %n",
               "STDINMODE", kRaw, redirects(o.input, "-i/--input")});
  t.push_back({"output", 'o', Arg::kRequired, "all|none|TASK|FILE",
               "standard output, likewise; with %t, %N or %n in its name each task writes a file on its node",
               "STDOUTMODE", kRaw, redirects(o.output, "-o/--output")});
  t.push_back({"error", 'e', Arg::kRequired, "all|none|TASK|FILE", "standard error, likewise (default: as -o)",
               "STDERRMODE", kRaw, redirects(o.error, "-e/--error")});
  t.push_back({"open-mode", 0, Arg::kRequired, "append|truncate", "how output files are opened", "OPEN_MODE", kPlain,
               [&o](Text v) -> Status {
                 GW_TRY_STATUS(set_open_mode(o.job.spec, v));
                 o.append = o.job.spec.launch.append_output;
                 return {};
               }});
  t.push_back(
      {"label", 'l', Arg::kNone, "", "each line begins with the number of its task", "LABELIO", kPlain, sets(o.label)});
  t.push_back({"unbuffered", 'u', Arg::kNone, "", "output is passed on as it comes, also in the middle of lines",
               "UNBUFFEREDIO", kPlain, sets(o.unbuffered)});
  t.push_back({"pty", 0, Arg::kNone, "", "task 0 has a terminal", "PTY", kPlain, sets(o.pty)});
}

void add_launch(std::vector<Option>& t, RunOptions& o) {
  t.push_back({"chdir", 'D', Arg::kRequired, "DIR", "work directory (default: this one)", "WORKING_DIR", kRaw,
               text_of_job(o.job.chdir, "-D/--chdir")});
  t.push_back({"export", 0, Arg::kRequired, "ALL|NONE|NIL|NAMES",
               "environment that goes along: ALL, NONE, names, NAME=value, separated by commas", "EXPORT_ENV", kRaw,
               text_of_job(o.job.export_form, "--export")});
  t.push_back({"multi-prog", 0, Arg::kNone, "",
               "the argument is a file of lines TASKS PROGRAM ARGUMENTS: what each task runs", "MULTI_PROG", kPlain,
               sets(o.multi_prog)});
  t.push_back({"mpi", 0, Arg::kRequired, "pmix|none|list",
               "how MPI programs find each other (default: pmix, where it is there)", "MPI_TYPE", kPlain,
               [&o](Text v) { return set_mpi(o, v); }});
  t.push_back({"jobid", 0, Arg::kRequired, "ID", "run inside this allocation", {}, kPlain, [&o](Text v) {
                 return set_job(o, v);
               }});
  add_waiting_options(t, o.immediate_seconds, o.preemptible);
  t.push_back({"test-only",
               0,
               Arg::kNone,
               "",
               "check only: where it would run, or what is in the way",
               {},
               kPlain,
               sets(o.test_only)});
}

void add_copies(std::vector<Option>& t, RunOptions& o) {
  t.push_back({"bcast", 0, Arg::kOptional, "FILE|FOLDER/",
               "copy the program to each node first, and run it from there (default: into the work directory)", "BCAST",
               kPlain, [&o](Text v) {
                 o.bcast = v;
                 return Status{};
               }});
  t.push_back({"preserve-env",
               'E',
               Arg::kNone,
               "",
               "tasks see SLURM_JOB_NUM_NODES and SLURM_NTASKS as grun sees them",
               {},
               kPlain,
               sets(o.preserves_env)});
}

client::Handler names_program(std::string& to, Text option) {
  return [&to, option](Text v) -> Status {
    if (v.empty()) return invalid(std::string(option) + ": the value is empty");
    to = base::iequals(v, "none") ? "" : std::string(v);
    return {};
  };
}

void add_programs(std::vector<Option>& t, RunOptions& o) {
  t.push_back(
      {"task-prolog", 0, Arg::kRequired, "PROGRAM",
       "run by the nodes before each task; its lines `export NAME=value`, `unset NAME` and `print TEXT` are for "
       "the task",
       "TASK_PROLOG", kPlain, names_program(o.task_prolog, "--task-prolog")});
  t.push_back({"task-epilog", 0, Arg::kRequired, "PROGRAM", "run by the nodes after each task", "TASK_EPILOG", kPlain,
               names_program(o.task_epilog, "--task-epilog")});
  t.push_back({"prolog", 0, Arg::kRequired, "PROGRAM", "run here before the step, with the words of its program",
               "PROLOG", kPlain, names_program(o.prolog, "--prolog")});
  t.push_back({"epilog", 0, Arg::kRequired, "PROGRAM", "run here after the step, with the words of its program",
               "EPILOG", kPlain, names_program(o.epilog, "--epilog")});
}

void add_sharing(std::vector<Option>& t, RunOptions& o) {
  t.push_back({"overlap", 0, Arg::kNone, "", "share cores and GPUs with other steps: take nothing, wait for nothing",
               "OVERLAP", kPlain, sets(o.overlap)});
  t.push_back({"exact", 0, Arg::kNone, "", "take only what is asked for, so that other steps may have the rest",
               "EXACT", kPlain, sets(o.exact)});
  t.push_back({"whole", 0, Arg::kNone, "", "take all that the job has on the nodes of the step", "WHOLE", kPlain,
               sets(o.whole)});
  t.push_back({"overcommit", 'O', Arg::kNone, "", "there may be more tasks than cores", "OVERCOMMIT", kPlain,
               sets(o.overcommit)});
  t.push_back({"relative",
               'r',
               Arg::kRequired,
               "N",
               "not on the first N nodes of the job",
               {},
               kPlain,
               number(o.relative, "-r/--relative", 0, 1'000'000)});
  t.push_back({"het-group",
               0,
               Arg::kRequired,
               "LIST",
               "in a heterogeneous job: run in these components (0, or one after the other for each part)",
               {},
               kPlain,
               [&o](Text v) { return set_het_groups(o, v); }});
  t.push_back({"distribution", 'm', Arg::kRequired, "block|cyclic|plane=N|arbitrary",
               "task numbers: consecutive on a node, in turn, N in turn, or by the hosts of SLURM_HOSTFILE",
               "DISTRIBUTION", kPlain, [&o](Text v) { return set_distribution(o, v); }});
  t.push_back({"cpu-bind", 0, Arg::kRequired, "[verbose,]HOW",
               "CPUs of a task: none, threads, cores, sockets, ldoms, rank, map_cpu:LIST, mask_cpu:LIST, rank_ldom, "
               "map_ldom:LIST, mask_ldom:LIST, closest",
               "CPU_BIND", kPlain, [&o](Text v) { return set_cpu_bind(o, v); }});
  t.push_back({"mem-bind", 0, Arg::kRequired, "[verbose,]HOW",
               "memory of a task: none, local, rank, map_mem:LIST, mask_mem:LIST; prefer, before it", "MEM_BIND",
               kPlain, [&o](Text v) { return set_mem_bind(o, v); }});
  t.push_back({"external-launcher", 0, Arg::kNone, "", {}, {}, kHidden, sets(o.overlap)});
}

void add_end(std::vector<Option>& t, RunOptions& o) {
  t.push_back({"kill-on-bad-exit", 'K', Arg::kOptional, "0|1", "the first task that fails ends the step",
               "KILL_BAD_EXIT", kPlain,
               [&o](Text v) { return set_switch(o.kill_on_bad_exit, v, "-K/--kill-on-bad-exit"); }});
  t.push_back({"wait", 'W', Arg::kRequired, "SECONDS", "end the others so long after the first task's end; 0: never",
               "WAIT", kPlain, [&o](Text v) -> Status {
                 uint32_t seconds = 0;
                 GW_TRY_STATUS(number(seconds, "-W/--wait", 0, kMaxSeconds)(v));
                 o.wait_seconds = seconds == 0 ? std::nullopt : std::optional(seconds);
                 return {};
               }});
  t.push_back({"keep", 0, Arg::kNone, "", "the tasks continue when grun is gone", {}, kPlain, sets(o.keep)});
  t.push_back({"detach", 0, Arg::kNone, "", "leave as soon as the tasks run; they continue", {}, kPlain, [&o](Text) {
                 o.keep = o.detach = true;
                 return Status{};
               }});
  t.push_back({"disable-status", 'X', Arg::kNone, "", "the first ctrl-C ends the step", "DISABLE_STATUS", kPlain,
               sets(o.disable_status)});
  t.push_back({"quit-on-interrupt", 0, Arg::kNone, "", "the first ctrl-C ends the step at once", "QUIT_ON_INTERRUPT",
               kPlain, sets(o.quit_on_interrupt)});
  t.push_back({"quiet", 'Q', Arg::kNone, "", "no notes", {}, kPlain, sets(o.quiet)});
  t.push_back({"verbose",
               'v',
               Arg::kNone,
               "",
               "say more: options in effect, nodes, CPUs and tasks; -vv: each request, too",
               {},
               kPlain,
               [](Text) { return Status{}; }});
}

/// The binding that the enclosing step has would be nonsense in another; it stands under both prefixes.
bool is_of_enclosing_step(const client::GetEnv& get, std::string_view name) {
  if (!model::is_input_of_steps(name) || get("GANGWAY_STEP_ID") == nullptr) return false;
  const char* value = get(std::string(name).c_str());
  const char* own = get(("GANGWAY_" + std::string(name.substr(name.find('_') + 1))).c_str());
  return value != nullptr && own != nullptr && std::string_view(value) == own;
}

}  // namespace

Redirect parse_redirect(Text text) {
  if (base::iequals(text, "all")) return {Redirect::To::kAll, 0, {}};
  if (base::iequals(text, "none")) return {Redirect::To::kNone, 0, {}};
  if (const auto task = base::parse_int(text, 0, UINT32_MAX, "task"))
    return {Redirect::To::kTask, static_cast<uint32_t>(*task), {}};
  return {Redirect::To::kFile, 0, std::string(text)};
}

std::vector<Option> run_table(RunOptions& o, client::CommonFlags& flags, base::Time now) {
  std::vector<Option> t;
  t.reserve(160);
  add_allocation_options(t, o.job, now);
  for (Option& row : t) {
    if (row.name == "nodes") row.env = "NNODES";
    if (row.name == "nodelist")
      row.handler = [&o, set = row.handler](Text v) {
        o.listed_nodes = v;
        return set(v);
      };
    if (row.name == "gpu-bind") row.handler = [&o](Text v) { return set_gpu_bind(o, v); };
  }
  add_streams(t, o);
  add_launch(t, o);
  add_programs(t, o);
  add_copies(t, o);
  add_sharing(t, o);
  add_end(t, o);
  add_slurm_forms(t, o.job, kByRun);
  add_slurm_options(t, o.job, kByRun);
  client::add_common_options(t, flags);
  add_older_spellings(t);
  return t;
}

// What a job tells its programs has the names of what srun reads: there it is taken from facts_of_environment() alone.
// Its --gpu-bind is meant for its steps.
Status read_run_environment(const std::vector<Option>& table, const client::GetEnv& get, bool is_inside) {
  std::vector<Option> rows;
  RunOptions unused;
  std::set<Text> of_allocation;
  std::vector<Option> allocation_rows;
  add_allocation_options(allocation_rows, unused.job, {});
  for (const Option& row : allocation_rows) of_allocation.insert(row.name);
  of_allocation.erase("gpu-bind");
  for (const Text of_job : {"ntasks-per-core", "ntasks-per-socket"}) of_allocation.insert(of_job);
  for (const Option& row : table)
    if (!row.env.empty() && !(is_inside && of_allocation.contains(row.name))) rows.push_back(row);
  const auto of_user = [&get](const char* name) { return is_of_enclosing_step(get, name) ? nullptr : get(name); };
  GW_TRY_STATUS(client::read_environment(rows, {"SLURM_"}, of_user));
  return client::read_environment(table, {"SRUN_", "GRUN_"}, get);
}

}  // namespace gw::cmds
