// Every attribute of a job that somebody may say, described once: a row names it wherever it is met, and for an
// attribute that is one member and one field the row is all there is. To add such a one: a member of model::JobSpec,
// its fields in job.proto (JobSpec, and UpdateJobRequest where it can be changed), and a row here; docs/limits.md shows
// its bound. What a row does not do is done by hand: values of a form of their own (cmds/request/job_options.cc reads
// them, cmds/gcontrol/control_update.cc too, wire/convert.cc carries them, wire/bounds_*.cc bounds them), the layout of
// what is shown
// (`Shown::kByHand`: client/show/job_text.cc, show_json.cc, job_fields.cc), and updates with a rule of their own
// (ctld/core/admission/update_job.cc).
// Invariants: options, keys and columns are unique; the rows stand in the order of help and man pages, those of
// Commands::kAsking first; what is kept in one field has a bound.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/version.h"
#include "wire/attribute_fields.h"
#include "wire/bounds_rows.h"

namespace gw::wire {

/// Whose option it is. All of them stand in directives, too.
enum class Commands : uint8_t {
  kNone,    ///< Nobody's in this version: refused as one of Slurm's that is not there.
  kAsking,  ///< Of every command that asks for resources.
  kBatch,   ///< Of gbatch.
};

/// Who may change it with gcontrol update.
enum class Updater : uint8_t { kNobody, kOwner, kAdmin };

struct JobUpdate {
  std::string_view key = {}, alias = {};  ///< In any case.
  Updater who = Updater::kNobody;
  bool only_pending = false;  ///< Only while the job waits; after it the job has to fit anew.
  bool by_hand = false;  ///< What it does to the job, and what else must hold, ctld/core/admission/update_job.cc says.
  UpdateField field = {};
};

/// A column of gqueue: -o by letter, -O by name.
struct JobColumn {
  char letter = 0;
  std::string_view name = {}, header = {};
};

/// Where show job, JSON and gqueue show it.
enum class Shown : uint8_t {
  kByRow,   ///< Under the row's names (of those that it has) with what the field holds, behind the comment.
  kByHand,  ///< Where, and as what, client/show/job_text.cc, show_json.cc and job_fields.cc say.
};

struct JobAttribute {
  std::string_view name = {};    ///< Of its field in job.proto; empty: several fields, or none of its own.
  std::string_view option = {};  ///< "-J/--job-name"
  Commands commands = Commands::kNone;
  std::string_view value = {}, help = {};
  std::string_view variable = {};  ///< Behind each prefix of the environment; empty: none.
  bool value_is_optional = false;
  bool is_raw = false;        ///< Any bytes; others are UTF-8.
  bool may_be_empty = false;  ///< Of a text: the option takes an empty one.
  JobUpdate update = {};
  std::string_view show_key = {};  ///< gcontrol show job
  std::string_view json_key = {};
  JobColumn column = {};
  Shown shown = Shown::kByRow;
  bool is_per_component = false;  ///< Each component of a heterogeneous job has its own.
  KeptField kept = {};
  int64_t least = 0;  ///< Of a number that is kept.
  uint64_t most = 0;  ///< Of a number that is kept; of a text: bytes.
  std::string_view hint = {};
  /// The version whose node daemon first understood it: to an earlier one no job goes that says it. Of an attribute
  /// that is kept in one field, and that node daemons look at.
  model::Version since = model::kFirstVersion;
};

namespace attributes {

using M = model::JobSpec;
using W = JobSpec;
using U = UpdateJobRequest;
using fields::kept;
using fields::update_field;
using fields::update_field_by_hand;
using rows::kNameBytes;
using enum Commands;
using enum Shown;
using enum Updater;

/// A time limit as a whole, or how the present one changes.
consteval UpdateField limit_or_change(UpdateField whole) {
  whole.is_set = [](const U& u) { return u.has_time_limit_us() || u.has_time_limit_change_us(); };
  whole.clear = [](U& u) {
    u.clear_time_limit_us();
    u.clear_time_limit_change_us();
  };
  return whole;
}

constexpr std::string_view kSignalHint = "there are the signals 1 to 64";

inline constexpr std::array kAll = std::to_array<JobAttribute>({
    {.name = "name",
     .option = "-J/--job-name",
     .commands = kAsking,
     .value = "NAME",
     .help = "name of the job (default: the script's)",
     .variable = "JOB_NAME",
     .is_raw = true,
     .update = {"JobName", "Name", kOwner, false, true,
                update_field<&U::has_name, &U::name, &U::mutable_name, &U::clear_name>(U::kNameFieldNumber)},
     .show_key = "JobName",
     .json_key = "name",
     .column = {'j', "Name", "NAME"},
     .shown = kByHand,
     .kept = kept<&M::name, &W::name, &W::mutable_name>(W::kNameFieldNumber),
     .most = 1024},
    {.option = "-p/--partition",
     .commands = kAsking,
     .value = "NAMES",
     .help = "partitions, in order of preference",
     .variable = "PARTITION",
     .update = {"Partition", {}, kOwner, true, true, update_field_by_hand<&U::has_partition, &U::clear_partition>()},
     .show_key = "Partition",
     .json_key = "partitions",
     .column = {'P', "Partition", "PARTITION"},
     .shown = kByHand,
     .is_per_component = true},
    {.name = "qos",
     .option = "-q/--qos",
     .commands = kAsking,
     .value = "NAME",
     .help = "quality of service: the quota to run under",
     .variable = "QOS",
     .update = {"QOS",
                {},
                kOwner,
                true,
                true,
                update_field<&U::has_qos, &U::qos, &U::mutable_qos, &U::clear_qos>(U::kQosFieldNumber)},
     .show_key = "QOS",
     .json_key = "qos",
     .column = {'q', "QOS", "QOS"},
     .shown = kByHand,
     .kept = kept<&M::qos, &W::qos, &W::mutable_qos>(W::kQosFieldNumber),
     .most = kNameBytes},
    {.name = "account",
     .option = "-A/--account",
     .commands = kAsking,
     .value = "NAME",
     .help = "account: a second name of a QOS",
     .variable = "ACCOUNT",
     .update = {"Account",
                {},
                kOwner,
                true,
                false,
                update_field<&U::has_account, &U::account, &U::mutable_account, &U::clear_account>(
                    U::kAccountFieldNumber)},
     .show_key = "Account",
     .json_key = "account",
     .column = {'a', "Account", "ACCOUNT"},
     .shown = kByHand,
     .kept = kept<&M::account, &W::account, &W::mutable_account>(W::kAccountFieldNumber),
     .most = kNameBytes},
    {.name = "comment",
     .option = "--comment",
     .commands = kAsking,
     .value = "TEXT",
     .help = "a comment",
     .variable = "COMMENT",
     .is_raw = true,
     .may_be_empty = true,
     .update = {"Comment",
                {},
                kOwner,
                false,
                false,
                update_field<&U::has_comment, &U::comment, &U::mutable_comment, &U::clear_comment>(
                    U::kCommentFieldNumber)},
     .show_key = "Comment",
     .json_key = "comment",
     .column = {'k', "Comment", "COMMENT"},
     .kept = kept<&M::comment, &W::comment, &W::mutable_comment>(W::kCommentFieldNumber),
     .most = 16 << 10,
     .hint = "keep data out of the comment"},
    {.name = "wckey",
     .option = "--wckey",
     .commands = kAsking,
     .value = "NAME",
     .help = "a word to sort usage by",
     .variable = "WCKEY",
     .update = {"WCKey",
                {},
                kOwner,
                false,
                false,
                update_field<&U::has_wckey, &U::wckey, &U::mutable_wckey, &U::clear_wckey>(U::kWckeyFieldNumber)},
     .show_key = "WCKey",
     .json_key = "wckey",
     .column = {'w', "WCKey", "WCKEY"},
     .kept = kept<&M::wckey, &W::wckey, &W::mutable_wckey>(W::kWckeyFieldNumber),
     .most = kNameBytes},

    // How much of it.
    {.option = "-N/--nodes",
     .commands = kAsking,
     .value = "MIN[-MAX]",
     .help = "number of nodes",
     .variable = "NODES",
     .update = {"NumNodes",
                "MinNodes",
                kOwner,
                true,
                true,
                {.is_set = [](const U& u) { return u.has_min_nodes() || u.has_max_nodes(); },
                 .clear =
                     [](U& u) {
                       u.clear_min_nodes();
                       u.clear_max_nodes();
                     }}},
     .show_key = "NumNodes",
     .column = {'D', "NumNodes", "NODES"},
     .shown = kByHand,
     .is_per_component = true},
    {.option = "-n/--ntasks",
     .commands = kAsking,
     .value = "COUNT",
     .help = "number of tasks",
     .variable = "NTASKS",
     .show_key = "NumTasks",
     .json_key = "tasks",
     .column = {0, "NumTasks", "TASKS"},
     .shown = kByHand,
     .is_per_component = true},
    {.option = "--ntasks-per-node",
     .commands = kAsking,
     .value = "COUNT",
     .help = "tasks on a node",
     .variable = "NTASKS_PER_NODE",
     .json_key = "tasks_per_node",
     .column = {0, "NtasksPerNode", "NTASKS_PER_NODE"},
     .shown = kByHand,
     .is_per_component = true},
    {.option = "-c/--cpus-per-task",
     .commands = kAsking,
     .value = "COUNT",
     .help = "CPUs (hardware threads) of a task",
     .variable = "CPUS_PER_TASK",
     .show_key = "CPUs/Task",
     .json_key = "cpus_per_task",
     .column = {0, "cpus-per-task", "CPUS_PER_TASK"},
     .shown = kByHand,
     .is_per_component = true},
    {.option = "--mincpus",
     .commands = kAsking,
     .value = "COUNT",
     .help = "on each node at least so many CPUs",
     .json_key = "minimum_cpus_per_node",
     .shown = kByHand,
     .is_per_component = true},
    {.option = "--hint",
     .commands = kAsking,
     .value = "nomultithread|multithread|compute_bound|memory_bound",
     .help = "nomultithread: each CPU is a core of its own; the others say nothing here",
     .variable = "HINT",
     .json_key = "whole_cores",
     .shown = kByHand,
     .is_per_component = true},
    {.option = "--mem",
     .commands = kAsking,
     .value = "SIZE[KMGT]",
     .help = "memory on a node; 0: all of it",
     .variable = "MEM_PER_NODE",
     .show_key = "MinMemoryNode",
     .json_key = "memory_per_node_mb",
     .column = {'m', "MinMemory", "MIN_MEMORY"},
     .shown = kByHand,
     .is_per_component = true},
    {.option = "--mem-per-cpu",
     .commands = kAsking,
     .value = "SIZE[KMGT]",
     .help = "memory for a CPU",
     .variable = "MEM_PER_CPU",
     .show_key = "MinMemoryCPU",
     .json_key = "memory_per_cpu_mb",
     .shown = kByHand,
     .is_per_component = true},

    // GPUs: all of these feed two fields.
    {.option = "-G/--gpus",
     .commands = kAsking,
     .value = "[TYPE:]COUNT",
     .help = "GPUs of the whole job",
     .variable = "GPUS",
     .show_key = "TresPerJob",
     .column = {0, "tres-per-job", "TRES_PER_JOB"},
     .shown = kByHand,
     .is_per_component = true},
    {.option = "--gpus-per-node",
     .commands = kAsking,
     .value = "[TYPE:]COUNT",
     .help = "GPUs on a node",
     .variable = "GPUS_PER_NODE",
     .show_key = "TresPerNode",
     .column = {'b', "tres-per-node", "TRES_PER_NODE"},
     .shown = kByHand,
     .is_per_component = true},
    {.option = "--gpus-per-task",
     .commands = kAsking,
     .value = "[TYPE:]COUNT",
     .help = "GPUs of a task",
     .variable = "GPUS_PER_TASK",
     .show_key = "TresPerTask",
     .column = {0, "tres-per-task", "TRES_PER_TASK"},
     .shown = kByHand,
     .is_per_component = true},
    {.option = "--gres",
     .commands = kAsking,
     .value = "gpu[:TYPE][:COUNT]|shard[:TYPE]:PARTS",
     .help = "GPUs on a node, in Slurm's older form; or thousandths of one GPU that is shared",
     .variable = "GRES",
     .shown = kByHand,
     .is_per_component = true},

    // How close together.
    {.option = "--locality",
     .commands = kAsking,
     .value = "LEVEL[@WAIT][,...]",
     .help =
         "how close: gpu, nvlink, pcie, numa, node, leaf, block, any; hold out WAIT for a level, then take the next",
     .variable = "LOCALITY",
     .show_key = "Locality",
     .json_key = "locality",
     .column = {0, "Locality", "LOCALITY"},
     .shown = kByHand,
     .is_per_component = true},
    {.option = "--switches",
     .commands = kAsking,
     .value = "COUNT[@WAIT]",
     .help = "at most so many leaf switches; after WAIT (minutes, H:M:S, 90s) any number",
     .variable = "REQ_SWITCH",
     .update = {"Switches",
                {},
                kOwner,
                true,
                true,
                update_field_by_hand<&U::has_max_switches, &U::clear_max_switches, &U::clear_switches_wait_us>()},
     .show_key = "Switches",
     .json_key = "max_switches",
     .column = {0, "ReqSwitch", "REQ_SWITCH"},
     .shown = kByHand,
     .is_per_component = true},
    {.option = "--segment",
     .commands = kAsking,
     .value = "COUNT",
     .help = "nodes in groups of COUNT, each group within one block",
     .variable = "SEGMENT_SIZE",
     .show_key = "Segment",
     .json_key = "segment",
     .shown = kByHand,
     .is_per_component = true},
    {.option = "--fit",
     .commands = kAsking,
     .value = "best|worst|spread",
     .help =
         "which of the nodes that fit: the fullest, the emptiest, or one after the other (default: the partition's)",
     .variable = "FIT",
     .show_key = "Fit",
     .json_key = "fit",
     .shown = kByHand,
     .is_per_component = true},
    {.option = "--cpus-per-gpu",
     .commands = kAsking,
     .value = "COUNT",
     .help = "CPUs that come with a GPU; not together with -c",
     .variable = "CPUS_PER_GPU",
     .show_key = "CpusPerTres",
     .json_key = "cpus_per_gpu",
     .shown = kByHand,
     .is_per_component = true},
    {.option = "--mem-per-gpu",
     .commands = kAsking,
     .value = "SIZE[KMGT]",
     .help = "memory that comes with a GPU",
     .variable = "MEM_PER_GPU",
     .show_key = "MemPerTres",
     .json_key = "memory_per_gpu_mb",
     .shown = kByHand,
     .is_per_component = true},
    {.name = "gpu_bind",
     .option = "--gpu-bind",
     .commands = kAsking,
     .value = "HOW",
     .help = "GPUs of a task: closest, single:N, per_task:N, map_gpu:LIST, mask_gpu:LIST, none; verbose, before it",
     .variable = "GPU_BIND",
     .show_key = "TresBind",
     .json_key = "gpu_bind",
     .shown = kByHand,
     .is_per_component = true,
     .kept = kept<&M::gpu_bind, &W::gpu_bind, &W::mutable_gpu_bind>(W::kGpuBindFieldNumber),
     .most = rows::kBindingBytes},
    {.name = "gres_flags",
     .option = "--gres-flags",
     .commands = kAsking,
     .value = "WORDS",
     .help = "enforce-binding (only CPUs near the GPUs), disable-binding, or other words of Slurm's",
     .variable = "GRES_FLAGS",
     .json_key = "gres_flags",
     .shown = kByHand,
     .is_per_component = true,
     .kept = kept<&M::gres_flags, &W::gres_flags, &W::mutable_gres_flags>(W::kGresFlagsFieldNumber),
     .most = 1024},

    // Which nodes.
    {.option = "-C/--constraint",
     .commands = kAsking,
     .value = "FEATURES",
     .help = "node features: names with &, | and parentheses",
     .variable = "CONSTRAINT",
     .update = {"Features", {}, kOwner, true, true, update_field_by_hand<&U::has_features, &U::clear_features>()},
     .show_key = "Features",
     .json_key = "features",
     .column = {'f', "Feature", "FEATURES"},
     .shown = kByHand,
     .is_per_component = true},
    {.option = "-w/--nodelist",
     .commands = kAsking,
     .value = "NODES",
     .help = "nodes that must be part of it, as n[1-3],x1",
     .update = {"ReqNodeList", "NodeList", kOwner, true, true,
                update_field_by_hand<&U::has_nodelist, &U::clear_nodelist>()},
     .show_key = "ReqNodeList",
     .json_key = "nodelist",
     .column = {'n', "ReqNodes", "REQ_NODES"},
     .shown = kByHand,
     .is_per_component = true},
    {.option = "-x/--exclude",
     .commands = kAsking,
     .value = "NODES",
     .help = "nodes not to use",
     .update = {"ExcNodeList", {}, kOwner, true, true, update_field_by_hand<&U::has_exclude, &U::clear_exclude>()},
     .show_key = "ExcNodeList",
     .json_key = "exclude",
     .column = {'x', "ExcNodes", "EXC_NODES"},
     .shown = kByHand,
     .is_per_component = true},
    {.option = "--exclusive",
     .commands = kAsking,
     .help = "whole nodes, shared with no other job",
     .variable = "EXCLUSIVE",
     .value_is_optional = true,
     .show_key = "OverSubscribe",
     .json_key = "exclusive",
     .column = {'h', "OverSubscribe", "OVER_SUBSCRIBE"},
     .shown = kByHand,
     .is_per_component = true},

    // When.
    {.name = "time_limit_us",
     .option = "-t/--time",
     .commands = kAsking,
     .value = "TIME",
     .help = "time limit: minutes, [D-]HH:MM:SS, D-HH, 90s, rounded up to minutes; 0 or UNLIMITED: none",
     .variable = "TIMELIMIT",
     .update = {"TimeLimit",
                {},
                kOwner,
                false,
                true,
                limit_or_change(update_field<&U::has_time_limit_us, &U::time_limit_us, &U::set_time_limit_us,
                                             &U::clear_time_limit_us>(U::kTimeLimitUsFieldNumber))},
     .show_key = "TimeLimit",
     .json_key = "time_limit",
     .column = {'l', "TimeLimit", "TIME_LIMIT"},
     .shown = kByHand,
     .kept = kept<&M::time_limit, &W::time_limit_us, &W::set_time_limit_us>(W::kTimeLimitUsFieldNumber)},
    {.name = "time_min_us",
     .option = "--time-min",
     .commands = kAsking,
     .value = "TIME",
     .help = "the time limit may be shortened to this, in order to start sooner",
     .update = {"TimeMin",
                {},
                kOwner,
                true,
                false,
                update_field<&U::has_time_min_us, &U::time_min_us, &U::set_time_min_us, &U::clear_time_min_us>(
                    U::kTimeMinUsFieldNumber)},
     .show_key = "TimeMin",
     .json_key = "time_minimum",
     .shown = kByHand,
     .kept = kept<&M::time_min, &W::time_min_us, &W::set_time_min_us>(W::kTimeMinUsFieldNumber)},
    {.name = "deadline_us",
     .option = "--deadline",
     .commands = kAsking,
     .value = "TIME",
     .help = "the time by which it must have ended: now+1day, 16:00, 2027-01-20T12:34:00; otherwise it is not started",
     .update = {"Deadline",
                {},
                kOwner,
                false,
                true,
                update_field<&U::has_deadline_us, &U::deadline_us, &U::set_deadline_us, &U::clear_deadline_us>(
                    U::kDeadlineUsFieldNumber)},
     .show_key = "Deadline",
     .json_key = "deadline",
     .column = {0, "Deadline", "DEADLINE"},
     .shown = kByHand,
     .kept = kept<&M::deadline, &W::deadline_us, &W::set_deadline_us>(W::kDeadlineUsFieldNumber)},
    {.option = "--signal",
     .commands = kAsking,
     .value = "[B:]SIG[@SECONDS]",
     .help = "signal before the time limit (default: 60 s before)",
     .variable = "SIGNAL",
     .show_key = "Signal",
     .shown = kByHand},
    {.name = "reservation",
     .option = "--reservation",
     .commands = kAsking,
     .value = "NAME",
     .help = "run inside this reservation",
     .variable = "RESERVATION",
     .update = {"Reservation", "ReservationName", kOwner, true, false,
                update_field<&U::has_reservation, &U::reservation, &U::mutable_reservation, &U::clear_reservation>(
                    U::kReservationFieldNumber)},
     .show_key = "Reservation",
     .json_key = "reservation",
     .column = {'v', "Reservation", "RESERVATION"},
     .shown = kByHand,
     .kept = kept<&M::reservation, &W::reservation, &W::mutable_reservation>(W::kReservationFieldNumber),
     .most = kNameBytes},
    {.name = "begin_us",
     .option = "-b/--begin",
     .commands = kAsking,
     .value = "TIME",
     .help = "not before: now+1hour, 16:00, tomorrow, 2027-01-20T12:34:00",
     .update = {"StartTime", "EligibleTime", kOwner, true, false,
                update_field<&U::has_begin_us, &U::begin_us, &U::set_begin_us, &U::clear_begin_us>(
                    U::kBeginUsFieldNumber)},
     .shown = kByHand,
     .kept = kept<&M::begin, &W::begin_us, &W::set_begin_us>(W::kBeginUsFieldNumber)},

    {.name = "dependency",
     .option = "-d/--dependency",
     .commands = kAsking,
     .value = "KIND:JOB[,...]",
     .help =
         "not before other jobs: after:JOB[+MINUTES], afterany, afterok, afternotok, singleton; with ? one is enough",
     .variable = "DEPENDENCY",
     .update = {"Dependency",
                {},
                kOwner,
                true,
                true,
                update_field<&U::has_dependency, &U::dependency, &U::mutable_dependency, &U::clear_dependency>(
                    U::kDependencyFieldNumber)},
     .show_key = "Dependency",
     .json_key = "dependency",
     .column = {'E', "Dependency", "DEPENDENCY"},
     .shown = kByHand,
     .kept = kept<&M::dependency, &W::dependency, &W::mutable_dependency>(W::kDependencyFieldNumber),
     .most = 16 << 10,
     .hint = "let a job in between wait for some of them"},
    {.name = "kill_on_invalid_dependency",
     .option = "--kill-on-invalid-dep",
     .commands = kAsking,
     .value = "yes|no",
     .help = "end the job once its dependency can never be met",
     .shown = kByHand,
     .kept = kept<&M::kill_on_invalid_dependency, &W::kill_on_invalid_dependency, &W::set_kill_on_invalid_dependency>(
         W::kKillOnInvalidDependencyFieldNumber)},

    // In what order, and what becomes of it.
    {.name = "nice",
     .option = "--nice",
     .commands = kAsking,
     .value = "VALUE",
     .help = "serve later by VALUE (100); only administrators give a negative one",
     .value_is_optional = true,
     .update = {"Nice",
                {},
                kOwner,
                false,
                true,
                update_field<&U::has_nice, &U::nice, &U::set_nice, &U::clear_nice>(U::kNiceFieldNumber)},
     .show_key = "Nice",
     .json_key = "nice",
     .column = {'y', "Nice", "NICE"},
     .shown = kByHand,
     .kept = kept<&M::nice, &W::nice, &W::set_nice>(W::kNiceFieldNumber),
     .least = INT32_MIN,
     .most = INT32_MAX},
    {.name = "priority",
     .option = "--priority",
     .commands = kAsking,
     .value = "VALUE",
     .help = "priority among one's own; only administrators raise it",
     .update = {"Priority",
                {},
                kOwner,
                false,
                true,
                update_field<&U::has_priority, &U::priority, &U::set_priority, &U::clear_priority>(
                    U::kPriorityFieldNumber)},
     .show_key = "Priority",
     .json_key = "priority",
     .column = {'Q', "Priority", "PRIORITY"},
     .shown = kByHand,
     .kept = kept<&M::priority, &W::priority, &W::set_priority>(W::kPriorityFieldNumber),
     .least = -rows::kPriority,
     .most = rows::kPriority},
    {.name = "hold_user",
     .option = "-H/--hold",
     .commands = kAsking,
     .help = "submit held, until gcontrol release",
     .json_key = "hold",
     .shown = kByHand,
     .kept = kept<&M::hold_user, &W::hold_user, &W::set_hold_user>(W::kHoldUserFieldNumber)},
    {.name = "requeue",
     .option = "--requeue",
     .commands = kBatch,
     .help = "requeue it if a node fails or if it is preempted",
     .variable = "REQUEUE",
     .update = {"Requeue",
                {},
                kOwner,
                false,
                false,
                update_field<&U::has_requeue, &U::requeue, &U::set_requeue, &U::clear_requeue>(U::kRequeueFieldNumber)},
     .show_key = "Requeue",
     .json_key = "requeue",
     .column = {0, "Requeue", "REQUEUE"},
     .shown = kByHand,
     .kept = kept<&M::requeue, &W::requeue, &W::set_requeue>(W::kRequeueFieldNumber)},
    {.option = "--no-requeue",
     .commands = kBatch,
     .help = "never requeue it, nor preempt it, unless with --on-preempt=cancel",
     .variable = "NO_REQUEUE",
     .shown = kByHand},
    {.option = "--on-preempt",
     .commands = kBatch,
     .value = "requeue|cancel|checkpoint|suspend",
     .help = "when it is preempted: requeue it, end it, requeue it having saved its work, or suspend it",
     .variable = "ON_PREEMPT",
     .show_key = "OnPreempt",
     .json_key = "on_preempt",
     .shown = kByHand},
    {.name = "preempt_signo",
     .option = "--preempt-signal",
     .commands = kBatch,
     .value = "SIG",
     .help = "the signal that warns it of a preemption (TERM)",
     .variable = "PREEMPT_SIGNAL",
     .show_key = "PreemptSignal",
     .json_key = "preempt_signal",
     .shown = kByHand,
     .kept = kept<&M::preempt_signo, &W::preempt_signo, &W::set_preempt_signo>(W::kPreemptSignoFieldNumber),
     .most = rows::kSignals,
     .hint = kSignalHint},
    {.option = "--elastic",
     .commands = kBatch,
     .help = "runs on as few or many nodes as -N MIN-MAX says, and is told of changes",
     .variable = "ELASTIC",
     .show_key = "Elastic",
     .json_key = "elastic",
     .shown = kByHand,
     .is_per_component = true},
    {.option = "--min-tasks",
     .commands = kBatch,
     .value = "N",
     .help = "elastic: runs with any number of tasks from this to -n",
     .variable = "MIN_TASKS",
     .json_key = "min_tasks",
     .shown = kByHand,
     .is_per_component = true},
    {.name = "resize_signo",
     .option = "--resize-signal",
     .commands = kBatch,
     .value = "SIG",
     .help = "the signal to the script of an elastic job when its nodes change (WINCH)",
     .variable = "RESIZE_SIGNAL",
     .json_key = "resize_signal",
     .shown = kByHand,
     .kept = kept<&M::resize_signo, &W::resize_signo, &W::set_resize_signo>(W::kResizeSignoFieldNumber),
     .most = rows::kSignals,
     .hint = kSignalHint},

    // How its script is started.
    {.option = "-o/--output",
     .commands = kBatch,
     .value = "FILE",
     .help = "standard output; patterns %j %A %a %x %u %N %n %t %%",
     .variable = "OUTPUT",
     .is_raw = true,
     .show_key = "StdOut",
     .json_key = "standard_output",
     .column = {0, "STDOUT", "STDOUT"},
     .shown = kByHand},
    {.option = "-e/--error",
     .commands = kBatch,
     .value = "FILE",
     .help = "standard error (default: with standard output)",
     .variable = "ERROR",
     .is_raw = true,
     .show_key = "StdErr",
     .json_key = "standard_error",
     .column = {0, "STDERR", "STDERR"},
     .shown = kByHand},
    {.option = "-i/--input",
     .commands = kBatch,
     .value = "FILE",
     .help = "standard input (default: /dev/null)",
     .variable = "INPUT",
     .is_raw = true,
     .show_key = "StdIn",
     .json_key = "standard_input",
     .column = {0, "STDIN", "STDIN"},
     .shown = kByHand},
    {.option = "--open-mode",
     .commands = kBatch,
     .value = "append|truncate",
     .help = "how output files are opened",
     .variable = "OPEN_MODE",
     .shown = kByHand},
    {.option = "-D/--chdir",
     .commands = kBatch,
     .value = "DIR",
     .help = "work directory (default: where gbatch runs)",
     .variable = "CHDIR",
     .is_raw = true,
     .show_key = "WorkDir",
     .json_key = "current_working_directory",
     .column = {'Z', "WorkDir", "WORK_DIR"},
     .shown = kByHand},
    {.option = "--export",
     .commands = kBatch,
     .value = "ALL|NONE|NIL|NAMES",
     .help = "environment that goes along: ALL, NONE, names, NAME=value, separated by commas",
     .variable = "EXPORT",
     .is_raw = true,
     .shown = kByHand},
});

}  // namespace attributes

inline constexpr const auto& kJobAttributes = attributes::kAll;

/// "job-name"
constexpr std::string_view option_name(const JobAttribute& a) { return a.option.substr(a.option.find("--") + 2); }
/// 'J'; 0: none.
constexpr char option_letter(const JobAttribute& a) { return a.option.starts_with("--") ? '\0' : a.option[1]; }

/// The row of an option, by its long name: attribute("job-name"). One that is not there does not compile.
consteval const JobAttribute& attribute(std::string_view option) {
  for (const JobAttribute& a : kJobAttributes)
    if (option_name(a) == option) return a;
  throw "no attribute has this option";
}

/// Does it say anything that a job may only be given while it waits, and after which it has to fit anew?
bool says_where_to_run(const UpdateJobRequest& update);
/// Takes away what each component of a heterogeneous job has for itself.
void clear_own_of_component(UpdateJobRequest& update);
/// Carries out all of `update` that no rule of its own needs. Errors: kDenied, what is for administrators.
base::Status take_plain(const UpdateJobRequest& update, bool is_admin, model::JobSpec& spec);
/// "JobName, Comment, ... and Requeue": what can change also once the job runs.
std::string keys_while_running();
/// The version that the node daemons of a job must have at least: the latest of the attributes that it says.
model::Version least_version(const model::JobSpec& spec, std::span<const JobAttribute> attributes = kJobAttributes);
/// Takes from `own` what a component has for itself, of what is kept in one field.
void take_own_of_component(const model::JobSpec& own, model::JobSpec& spec);

}  // namespace gw::wire
