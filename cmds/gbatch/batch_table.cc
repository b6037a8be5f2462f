// The option table and the pages of gbatch: the attributes of a job, and what only gbatch itself does.
#include "cmds/gbatch/batch_table.h"

#include "cmds/request/option_groups.h"
#include "cmds/request/queue_options.h"
#include "cmds/request/slurm_forms.h"
#include "cmds/request/slurm_options.h"
#include "cmds/shared/commands.h"

namespace gw::cmds {
namespace {

using base::Status;
using client::Arg;
using client::kDirective;
using client::kRaw;
using client::Option;
using Text = std::string_view;

void add_array(std::vector<Option>& t, BatchOptions& o) {
  t.push_back({"array", 'a', Arg::kRequired, "TASKS",
               "run the script for each of these: 0-15, 1,3,5-7, 0-15:4; behind %, how many at once: 0-999%20",
               "ARRAY_INX", kDirective, [&o](Text v) -> Status {
                 GW_TRY(array, model::parse_array(v));
                 o.array = std::move(array);
                 return {};
               }});
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
  t.push_back({"verbose",
               'v',
               Arg::kNone,
               {},
               "say more: the options in effect; -vv: each request, too",
               "DEBUG",
               kDirective,
               [](Text) { return Status{}; }});
}

}  // namespace

std::vector<Option> batch_table(BatchOptions& o, client::CommonFlags& flags, base::Time now) {
  std::vector<Option> t;
  t.reserve(160);
  add_allocation_options(t, o, now);
  add_attributes(t, o, wire::Commands::kBatch);
  add_array(t, o);
  add_behaviour(t, o);
  add_slurm_forms(t, o, kByBatch);
  add_slurm_options(t, o, kByBatch);
  add_queue_options(t, o);
  client::add_common_options(t, flags);
  add_older_spellings(t);
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
      "line comes before the environment, which comes before these lines. #PBS lines are read, too.\n\n"
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
                  {"2", "with --test-only: it could run, but would not start now"},
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
  d.groups = job_option_groups();
  return d;
}

}  // namespace gw::cmds
