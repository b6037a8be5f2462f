// The option table of gbatch.
#include "cmds/batch_options.h"

#include <fmt/format.h>

#include <utility>

#include "base/text.h"
#include "cmds/batch_locality.h"
#include "cmds/batch_values.h"
#include "cmds/commands.h"

namespace gw::cmds {
namespace {

using base::invalid;
using base::Status;
using client::Arg;
using client::Handler;
using client::kDirective;
using client::kRaw;
using client::Option;
using Text = std::string_view;

constexpr int64_t kMaxPriority = UINT32_MAX;

void add_identity(std::vector<Option>& t, BatchOptions& o) {
  t.push_back({"job-name", 'J', Arg::kRequired, "NAME", "name of the job (default: the script's)", "JOB_NAME",
               kDirective | kRaw, text_of_job(o.spec.name, "-J/--job-name")});
  t.push_back({"partition", 'p', Arg::kRequired, "NAMES", "partitions, in order of preference", "PARTITION", kDirective,
               [&o](Text v) {
                 o.spec.partitions.clear();
                 return lists(o.spec.partitions, "-p/--partition")(v);
               }});
  t.push_back({"qos", 'q', Arg::kRequired, "NAME", "quality of service: the quota to run under", "QOS", kDirective,
               text_of_job(o.spec.qos, "-q/--qos")});
  t.push_back({"account", 'A', Arg::kRequired, "NAME", "account: a second name of a QOS", "ACCOUNT", kDirective,
               text_of_job(o.spec.account, "-A/--account")});
  t.push_back({"comment", 0, Arg::kRequired, "TEXT", "a comment", "COMMENT", kDirective | kRaw, keeps(o.spec.comment)});
}

void add_size(std::vector<Option>& t, BatchOptions& o) {
  model::Request& r = o.spec.request;
  t.push_back({"nodes", 'N', Arg::kRequired, "MIN[-MAX]", "number of nodes", "NODES", kDirective,
               [&r](Text v) { return set_nodes(r, v); }});
  t.push_back({"ntasks", 'n', Arg::kRequired, "COUNT", "number of tasks", "NTASKS", kDirective, [&r](Text v) -> Status {
                 GW_TRY_STATUS(number(r.tasks, "-n/--ntasks", 1, 100'000'000)(v));
                 r.tasks_given = true;
                 return {};
               }});
  t.push_back({"ntasks-per-node", 0, Arg::kRequired, "COUNT", "tasks on a node", "NTASKS_PER_NODE", kDirective,
               number(r.tasks_per_node, "--ntasks-per-node", 1, 100'000'000)});
  t.push_back({"cpus-per-task", 'c', Arg::kRequired, "COUNT", "CPUs (hardware threads) of a task", "CPUS_PER_TASK",
               kDirective, [&o, &r](Text v) -> Status {
                 o.given.cpus_per_task = true;
                 return number(r.cpus_per_task, "-c/--cpus-per-task", 1, 65'536)(v);
               }});
  t.push_back({"mem", 0, Arg::kRequired, "SIZE[KMGT]", "memory on a node; 0: all of it", "MEM_PER_NODE", kDirective,
               [&r](Text v) { return set_memory(r, v, MemoryOf::kNode); }});
  t.push_back({"mem-per-cpu", 0, Arg::kRequired, "SIZE[KMGT]", "memory for a CPU", "MEM_PER_CPU", kDirective,
               [&r](Text v) { return set_memory(r, v, MemoryOf::kCpu); }});
}

void add_gpus(std::vector<Option>& t, BatchOptions& o) {
  t.push_back({"gpus", 'G', Arg::kRequired, "[TYPE:]COUNT", "GPUs of the whole job", "GPUS", kDirective,
               gpus(o.gpus.total, "-G/--gpus")});
  t.push_back({"gpus-per-node", 0, Arg::kRequired, "[TYPE:]COUNT", "GPUs on a node", "GPUS_PER_NODE", kDirective,
               gpus(o.gpus.per_node, "--gpus-per-node")});
  t.push_back({"gpus-per-task", 0, Arg::kRequired, "[TYPE:]COUNT", "GPUs of a task", "GPUS_PER_TASK", kDirective,
               gpus(o.gpus.per_task, "--gpus-per-task")});
  t.push_back({"gres", 0, Arg::kRequired, "gpu[:TYPE][:COUNT]|shard[:TYPE]:PARTS",
               "GPUs on a node, in Slurm's older form; or thousandths of one GPU that is shared", "GRES", kDirective,
               [&o](Text v) -> Status {
                 GW_TRY(spec, parse_gres(v));
                 o.gpus.per_node = spec;
                 return {};
               }});
}

void add_place(std::vector<Option>& t, BatchOptions& o) {
  t.push_back({"constraint", 'C', Arg::kRequired, "FEATURES", "node features: names with &, | and parentheses",
               "CONSTRAINT", kDirective, [&o](Text v) { return set_features(o.spec, v); }});
  t.push_back({"nodelist",
               'w',
               Arg::kRequired,
               "NODES",
               "nodes that must be part of it, as n[1-3],x1",
               {},
               kDirective,
               host_list(o.spec.request.nodelist, "-w/--nodelist")});
  t.push_back({"exclude",
               'x',
               Arg::kRequired,
               "NODES",
               "nodes not to use",
               {},
               kDirective,
               host_list(o.spec.request.exclude, "-x/--exclude")});
  t.push_back({"exclusive",
               0,
               Arg::kOptional,
               {},
               "whole nodes, shared with no other job",
               "EXCLUSIVE",
               kDirective,
               [&o](Text v) { return set_exclusive(o.spec, v); }});
}

void add_time(std::vector<Option>& t, BatchOptions& o, base::Time now) {
  t.push_back({"time", 't', Arg::kRequired, "TIME",
               "time limit: minutes, [D-]HH:MM:SS, D-HH, 90s, rounded up to minutes; 0 or UNLIMITED: none", "TIMELIMIT",
               kDirective, [&o](Text v) { return set_time(o.spec, v); }});
  t.push_back({"time-min",
               0,
               Arg::kRequired,
               "TIME",
               "the time limit may be shortened to this, in order to start sooner",
               {},
               kDirective,
               [&o](Text v) { return set_time_min(o.spec, v); }});
  t.push_back({"deadline",
               0,
               Arg::kRequired,
               "TIME",
               "must have ended by then: now+1day, 16:00, 2027-01-20T12:34:00; else it does not start",
               {},
               kDirective,
               [&o, now](Text v) { return set_deadline(o.spec, v, now); }});
  t.push_back({"signal", 0, Arg::kRequired, "[B:]SIG[@SECONDS]",
               "signal before the time limit (60 s before, unless said)", "SIGNAL", kDirective, [&o](Text v) -> Status {
                 GW_TRY(warn, parse_warn_signal(v));
                 o.spec.warn = warn;
                 return {};
               }});
  t.push_back({"reservation", 0, Arg::kRequired, "NAME", "run inside this advance reservation", "RESERVATION",
               kDirective, [&o](Text v) { return set_reservation(o.spec, v); }});
  t.push_back({"begin",
               0,
               Arg::kRequired,
               "TIME",
               "not before: now+1hour, 16:00, tomorrow, 2027-01-20T12:34:00",
               {},
               kDirective,
               [&o, now](Text v) { return set_begin(o.spec, v, now); }});
}

void add_elastic(std::vector<Option>& t, BatchOptions& o) {
  t.push_back({"elastic", 0, Arg::kNone, "", "runs on as few or many nodes as -N MIN-MAX says, and is told of changes",
               "ELASTIC", kDirective, [&o](Text) {
                 o.spec.request.elastic = true;
                 return Status{};
               }});
  t.push_back({"min-tasks", 0, Arg::kRequired, "N", "elastic: runs with any number of tasks from this to -n",
               "MIN_TASKS", kDirective, [&o](Text v) -> Status {
                 GW_TRY(tasks, base::parse_int(v, 1, 1'000'000, "--min-tasks"));
                 o.spec.request.min_tasks = static_cast<uint32_t>(tasks);
                 return {};
               }});
  t.push_back({"resize-signal", 0, Arg::kRequired, "SIG",
               "the signal that tells an elastic job's script of other nodes (WINCH)", "RESIZE_SIGNAL", kDirective,
               [&o](Text v) -> Status {
                 GW_TRY(signo, parse_signal(v, "--resize-signal"));
                 o.spec.resize_signo = signo;
                 return {};
               }});
}

void add_order(std::vector<Option>& t, BatchOptions& o) {
  t.push_back({"nice",
               0,
               Arg::kOptional,
               "VALUE",
               "serve later by VALUE (100); only administrators give a negative one",
               {},
               kDirective,
               [&o](Text v) { return set_nice(o.spec, v); }});
  t.push_back({"priority",
               0,
               Arg::kRequired,
               "VALUE",
               "priority among one's own; only administrators raise it",
               {},
               kDirective,
               [&o](Text v) -> Status {
                 GW_TRY(priority, base::parse_int(v, 0, kMaxPriority, "--priority"));
                 o.spec.priority = priority;
                 return {};
               }});
  t.push_back({"hold",
               'H',
               Arg::kNone,
               {},
               "submit held; gcontrol release lets it go",
               {},
               kDirective,
               sets(o.spec.hold_user)});
  t.push_back({"requeue",
               0,
               Arg::kNone,
               {},
               "run again if a node fails, or if it is taken off",
               "REQUEUE",
               kDirective,
               [&o](Text) {
                 o.spec.requeue = true;
                 return Status{};
               }});
  t.push_back({"no-requeue",
               0,
               Arg::kNone,
               {},
               "never run again; nor taken off, but with --on-preempt=cancel",
               "NO_REQUEUE",
               kDirective,
               [&o](Text) {
                 o.spec.requeue = false;
                 return Status{};
               }});
  t.push_back({"on-preempt", 0, Arg::kRequired, "requeue|cancel|checkpoint|suspend",
               "when it is taken off for another job: run again, end, run again having saved its work, or stand still",
               "ON_PREEMPT", kDirective, [&o](Text v) { return set_on_preempt(o.spec, v); }});
  t.push_back({"preempt-signal", 0, Arg::kRequired, "SIG", "the signal that tells it so (TERM)", "PREEMPT_SIGNAL",
               kDirective, [&o](Text v) -> Status {
                 GW_TRY(signo, parse_signal(v, "--preempt-signal"));
                 o.spec.preempt_signo = signo;
                 return {};
               }});
}

void add_files(std::vector<Option>& t, BatchOptions& o) {
  model::Launch& l = o.spec.launch;
  t.push_back({"output", 'o', Arg::kRequired, "FILE", "standard output; patterns %j %A %a %x %u %N %n %t %%", "OUTPUT",
               kDirective | kRaw, text_of_job(l.std_out, "-o/--output")});
  t.push_back({"error", 'e', Arg::kRequired, "FILE", "standard error (default: with standard output)", "ERROR",
               kDirective | kRaw, text_of_job(l.std_err, "-e/--error")});
  t.push_back({"input", 'i', Arg::kRequired, "FILE", "standard input (default: /dev/null)", "INPUT", kDirective | kRaw,
               text_of_job(l.std_in, "-i/--input")});
  t.push_back({"open-mode", 0, Arg::kRequired, "append|truncate", "how output files are opened", "OPEN_MODE",
               kDirective, [&o](Text v) { return set_open_mode(o.spec, v); }});
  t.push_back({"chdir", 'D', Arg::kRequired, "DIR", "work directory (default: where gbatch runs)", "CHDIR",
               kDirective | kRaw, text_of_job(o.chdir, "-D/--chdir")});
  t.push_back({"export", 0, Arg::kRequired, "ALL|NONE|NIL|NAMES",
               "environment that goes along: ALL, NONE, names, NAME=value, separated by commas", "EXPORT",
               kDirective | kRaw, text_of_job(o.export_form, "--export")});
}

void add_behaviour(std::vector<Option>& t, BatchOptions& o) {
  t.push_back(
      {"wrap", 0, Arg::kRequired, "COMMAND", "run this line under /bin/sh instead of a script", {}, kRaw, [&o](Text v) {
         o.wrap = std::string(v);
         return Status{};
       }});
  t.push_back({"parsable", 0, Arg::kNone, {}, "print the job id alone", {}, client::kPlain, sets(o.parsable)});
  t.push_back({"wait",
               'W',
               Arg::kNone,
               {},
               "wait for the end and exit with the job's code (128+signal)",
               "WAIT",
               kDirective,
               sets(o.wait)});
  t.push_back({"test-only",
               0,
               Arg::kNone,
               {},
               "check only: where it would run, or what is in the way",
               {},
               client::kPlain,
               sets(o.test_only)});
  t.push_back(
      {"ignore-pbs", 0, Arg::kNone, {}, "leave out #PBS lines", "IGNORE_PBS", client::kPlain, sets(o.ignore_pbs)});
  t.push_back({"quiet", 'Q', Arg::kNone, {}, "no warnings and notes", {}, kDirective, sets(o.quiet)});
  t.push_back({"verbose", 'v', Arg::kNone, {}, "say more", "DEBUG", kDirective, [&o](Text) {
                 ++o.verbose;
                 return Status{};
               }});
}

/// Slurm's options that later versions may bring. Flags among them say so with Arg::kNone.
constexpr client::Unsupported kUnsupported[] = {
    {"array", 'a'},
    {"dependency", 'd'},
    {"licenses", 'L'},
    {"clusters", 'M'},
    {"cluster"},
    {"distribution", 'm'},
    {"mail-type"},
    {"mail-user"},
    {"delay-boot"},
    {"core-spec", 'S'},
    {"thread-spec"},
    {"extra-node-info", 'B'},
    {"sockets-per-node"},
    {"cores-per-socket"},
    {"threads-per-core"},
    {"ntasks-per-core"},
    {"ntasks-per-socket"},
    {"ntasks-per-gpu"},
    {"gpus-per-socket"},
    {"gpu-freq"},
    {"mem-bind"},
    {"hint"},
    {"mincpus"},
    {"tmp"},
    {"cpu-freq"},
    {"bb"},
    {"bbf"},
    {"container"},
    {"container-id"},
    {"export-file"},
    {"get-user-env", 0, Arg::kOptional},
    {"gid"},
    {"uid"},
    {"network"},
    {"power"},
    {"prefer"},
    {"profile"},
    {"propagate", 0, Arg::kOptional},
    {"acctg-freq"},
    {"admin-comment"},
    {"extra"},
    {"mcs-label"},
    {"nodefile", 'F'},
    {"tres-per-task"},
    {"tres-bind"},
    {"wait-all-nodes"},
    {"wckey"},
    {"kill-on-invalid-dep"},
    {"no-kill", 'k', Arg::kOptional},
    {"overcommit", 'O', Arg::kNone},
    {"oversubscribe", 's', Arg::kNone},
    {"contiguous", 0, Arg::kNone},
    {"reboot", 0, Arg::kNone},
    {"spread-job", 0, Arg::kNone},
    {"use-min-nodes", 0, Arg::kNone},
};

std::string node_and_task_note(const model::Request& r) {
  return fmt::format("can't run {} processes on {} nodes, setting nnodes to {}", r.tasks, r.min_nodes, r.tasks);
}

}  // namespace

void add_allocation_options(std::vector<Option>& t, BatchOptions& o, base::Time now) {
  o.now = now;
  add_identity(t, o);
  add_size(t, o);
  add_gpus(t, o);
  add_locality(t, o);
  add_place(t, o);
  add_time(t, o, now);
}

std::vector<Option> batch_table(BatchOptions& o, client::CommonFlags& flags, base::Time now) {
  std::vector<Option> t;
  t.reserve(128);
  add_allocation_options(t, o, now);
  add_order(t, o);
  add_elastic(t, o);
  add_files(t, o);
  add_behaviour(t, o);
  client::add_common_options(t, flags);
  client::add_unsupported(t, kUnsupported);
  return t;
}

client::CommandDoc batch_doc() {
  client::CommandDoc d;
  d.summary = "submit a batch script";
  d.synopsis = "[OPTIONS] [: OPTIONS]... [SCRIPT [ARGUMENTS]]";
  d.description =
      "Submits a batch script, which then runs once, on the first of its nodes. The script is copied at submission; "
      "without one it is "
      "read from standard input. Options also stand in the script, as #GBATCH or #SBATCH lines before its first "
      "command; the command "
      "line comes before the environment, which comes before these lines. #PBS lines are understood where they are "
      "plain.\n\n"
      "A heterogeneous job has several components that start together; the script runs in the first. They are "
      "separated "
      "by `:` on the command line and by a line #SBATCH hetjob in the script. Options that describe the job as a whole "
      "(name, account, times, files, ...) hold for the later components too, unless given anew; sizes do not.\n\n"
      "--locality says how close the parts of the job must be. gpu to node hold on each node: one GPU, all GPUs linked "
      "in pairs (NVLink, xGMI), one PCIe switch, one NUMA node, one node; leaf and block for all nodes together. "
      "leaf@10m,block@1h waits ten minutes for one leaf switch, then an hour for one block, then takes any. Without "
      "it the closest that is free is taken at once.\n\n"
      "--gres=shard:250 asks for 250 thousandths of one GPU, where the partition allows it. Other jobs may have the "
      "rest. Nothing keeps jobs that share a GPU apart: not its memory, not its time, not its faults.";
  d.exit_codes = {{"0", "submitted (with --wait: the job's own code)"},
                  {"1", "refused, or the script cannot be used, or the controller is out of reach"},
                  {"128+N", "with --wait: the job ended by signal N"},
                  {"255", "a bad option or directive"}};
  d.environment = {{"GANGWAY_CONF", "configuration file (/etc/gangway/gangway.yaml)"},
                   {"GANGWAY_TIMEOUT", "seconds to keep trying to reach the controller (60)"}};
  d.examples = {{"gbatch -N2 --gpus-per-node=8 -t 2:00:00 train.sh", "two whole nodes of eight GPUs for two hours"},
                {"gbatch -N4 --gpus-per-node=8 --locality=leaf@30m,block train.sh",
                 "four nodes at one leaf switch; after half an hour also of one block"},
                {"gbatch -n1 --gpus=1 : -n8 -p cpu both.sh", "two components that start together"},
                {"gbatch --wait --wrap 'nvidia-smi'", "run one line and wait for it"}};
  d.env_prefixes = {"SBATCH_", "GBATCH_"};
  return d;
}

Status end_of_source(BatchOptions& o) {
  const BatchOptions::Given given = std::exchange(o.given, {});
  if (given.cpus_per_task && given.cpus_per_gpu)
    return invalid("-c/--cpus-per-task and --cpus-per-gpu are mutually exclusive", "leave one of them out");
  o.says_cpus = o.says_cpus || given.cpus_per_task || given.cpus_per_gpu;
  if (given.cpus_per_task) o.spec.request.cpus_per_gpu = 0;
  if (given.cpus_per_gpu) o.spec.request.cpus_per_task = 1;
  return {};
}

Status complete(BatchOptions& o, std::vector<std::string>& notes) {
  model::Request& r = o.spec.request;
  GW_TRY_STATUS(end_of_source(o));
  r.cpus_by_gpus = !o.says_cpus;
  GW_TRY_STATUS(apply_gpus(o.gpus, r));
  if (r.nodes_given && r.tasks_given && r.tasks < r.min_nodes) {
    notes.push_back(node_and_task_note(r));
    r.min_nodes = r.max_nodes = r.tasks;
  }
  GW_TRY_STATUS(model::normalise(r));
  return model::check_times(o.spec, o.now);
}

}  // namespace gw::cmds
