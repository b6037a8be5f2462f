// Rows of the table of bounds: what jobs and steps say of themselves, in requests and in the store. See bounds.h.
#include "model/named_counts.h"
#include "wire/bounds_attributes.h"

namespace gw::wire {
namespace {

using namespace rows;

constexpr uint64_t kStepTasks = 10'000'000, kJobGpus = 10'000'000;
constexpr uint64_t kTaskRanges = 10'000;
constexpr uint64_t kLineBytes = 128 << 10;  // what execve(2) takes as one argument

constexpr FieldBound signal(uint32_t n, Name name, Name label) {
  FieldBound f = i32(n, name, 0, kSignals, label);
  f.hint = attributes::kSignalHint;
  return f;
}

constexpr FieldBound kFeatureSet[] = {texts(1, "all", 32, kNameBytes, "features of one alternative of --constraint")};
constexpr MessageBounds kFeatureSetBounds = {"FeatureSet", {}, kFeatureSet};

constexpr FieldBound kLocalityStep[] = {u32(1, "level", 7, "level of --locality"),
                                        length(2, "wait_us", "wait of --locality")};
constexpr MessageBounds kLocalityStepBounds = {"LocalityStep", {}, kLocalityStep};

constexpr FieldBound kGresCount[] = {text(1, "name", 128, "name of a generic resource"),
                                     u64(2, "count", model::kMostOfAGres, "number of a generic resource")};
constexpr MessageBounds kGresCountBounds = {"GresCount", {}, kGresCount};

constexpr FieldBound kRequest[] = {
    u32(1, "min_nodes", kNodes, "-N/--nodes"),
    u32(2, "max_nodes", kNodes, "-N/--nodes"),
    u32(3, "tasks", kTasks, "-n/--ntasks"),
    u32(4, "tasks_per_node", kTasks, "--ntasks-per-node"),
    u32(5, "cpus_per_task", kCpus, "-c/--cpus-per-task"),
    u64(6, "mem_per_node_mb", kMostMb, "--mem, in MiB"),
    u64(7, "mem_per_cpu_mb", kMostMb, "--mem-per-cpu, in MiB"),
    flag(8, "mem_all"),
    u32(9, "gpu_counting", 3),
    u32(10, "gpus", kJobGpus, "number of GPUs"),
    text(11, "gpu_type", kNameBytes, "type of the GPUs"),
    parts(12, "features", 256, kFeatureSetBounds, "alternatives of --constraint"),
    nodes(13, "nodelist", "-w/--nodelist"),
    nodes(14, "exclude", "-x/--exclude"),
    flag(15, "exclusive"),
    flag(16, "nodes_given"),
    flag(17, "tasks_given"),
    u32(18, "gpu_milli", 1000, "thousandths of a GPU (shards)"),
    u32(19, "cpus_per_gpu", kCpus, "--cpus-per-gpu"),
    u64(20, "mem_per_gpu_mb", kMostMb, "--mem-per-gpu, in MiB"),
    parts(21, "locality", 8, kLocalityStepBounds, "levels of --locality"),
    u32(22, "max_switches", kNodes, "--switches"),
    length(23, "switches_wait_us", "wait of --switches"),
    u32(24, "segment", kNodes, "--segment"),
    u32(25, "fit", 3),
    u32(26, "min_tasks", kTasks, "--min-tasks"),
    flag(27, "elastic"),
    flag(28, "cpus_by_gpus"),
    u32(29, "min_cpus", kCpus, "--mincpus"),
    flag(30, "whole_cores"),
    flag(31, "overcommit"),
    parts(32, "gres", model::kMostGres, kGresCountBounds, "kinds and types of --gres"),
    u64(33, "tmp_mb", kMostMb, "--tmp, in MiB"),
    u32(34, "sockets", kCpus, "--sockets-per-node"),
    u32(35, "socket_cores", kCpus, "--cores-per-socket"),
    u32(36, "core_threads", kCpus, "--threads-per-core"),
    flag(37, "contiguous"),
    u32(38, "tasks_per_socket", kStepTasks, "--ntasks-per-socket"),
};
constexpr MessageBounds kRequestBounds = {"Request", "What a job asks for", kRequest};

constexpr FieldBound kLimit[] = {text(1, "key", kKeyBytes, "name of a resource limit"), u64(2, "value")};
constexpr MessageBounds kLimitBounds = {"LimitsEntry", {}, kLimit};

constexpr FieldBound kLaunch[] = {
    text(1, "script_hash", 2 * kKeyBytes),
    text(2, "env_hash", 2 * kKeyBytes),
    texts(3, "args", 10'000, kLineBytes, "arguments of the batch script"),
    text(4, "work_dir", kPathBytes, "-D/--chdir"),
    text(5, "std_out", kPathBytes, "-o/--output"),
    text(6, "std_err", kPathBytes, "-e/--error"),
    text(7, "std_in", kPathBytes, "-i/--input"),
    flag(8, "append_output"),
    u32(9, "umask", 07777),
    parts(10, "limits", 64, kLimitBounds, "resource limits"),
    flag(11, "slurm_names"),
    text(12, "command", kLineBytes, "command"),
};
constexpr MessageBounds kLaunchBounds = {"Launch", {}, kLaunch};

constexpr FieldBound kArrayPlace[] = {u32(1, "job"),   u32(2, "task"), u32(3, "count"),
                                      u32(4, "least"), u32(5, "most"), u32(6, "step")};
constexpr MessageBounds kArrayPlaceBounds = {"ArrayPlace", {}, kArrayPlace};

constexpr FieldBound kTaskRange[] = {u32(1, "first", model::kMaxArrayIndex, "an index of --array"),
                                     u32(2, "last", model::kMaxArrayIndex, "an index of --array"),
                                     u32(3, "step", model::kMaxArrayIndex, "a step of --array")};
constexpr MessageBounds kTaskRangeBounds = {"TaskRange", {}, kTaskRange};
constexpr FieldBound kArrayTasks[] = {
    parts(1, "left", kTaskRanges, kTaskRangeBounds, "ranges of --array"),
    u32(2, "throttle", model::kMaxArrayIndex, "the number behind the percent sign of --array"),
    u32(3, "completed"),
    u32(4, "failed"),
    u32(5, "part_of"),
    u32(6, "next"),
    u32(7, "more"),
};
constexpr FieldBound kTasksOfArray[] = {u32(1, "array"),
                                        parts(2, "tasks", kTaskRanges, kTaskRangeBounds, "ranges of tasks")};

/// Without the attributes that are one field.
constexpr FieldBound kJobSpec[] = {
    u32(2, "uid"),
    u32(3, "gid"),
    text(4, "user", kNameBytes),
    text(5, "group", kNameBytes),
    texts(8, "partitions", 1'000, kNameBytes, "-p/--partition"),
    part(9, "request", kRequestBounds),
    flag(15, "hold_admin"),
    signal(17, "warn_signo", "--signal"),
    u32(18, "warn_seconds_before", kLongest / 1'000'000, "seconds of --signal"),
    flag(19, "warn_batch_only"),
    text(21, "submit_host", kNameBytes),
    text(22, "submit_line", kLineBytes, "command line of the submission"),
    part(23, "launch", kLaunchBounds),
    u32(29, "het_job"),
    u32(30, "het_offset"),
    u32(31, "het_size"),
    u32(32, "on_preempt", 3, "--on-preempt"),
    u32(35, "kind", 2),
    flag(36, "attended"),
    flag(37, "not_preemptible"),
    part(41, "array", kArrayPlaceBounds),
};
constexpr auto kWholeJobSpec = with_attributes<bound_as_kept>(kJobSpec);

constexpr FieldBound kStepRequest[] = {
    text(1, "name", 1024, "-J/--job-name of a step"),
    u32(2, "tasks", kStepTasks, "-n/--ntasks of a step"),
    u32(3, "min_nodes", kNodes, "-N/--nodes of a step"),
    u32(4, "max_nodes", kNodes, "-N/--nodes of a step"),
    u32(5, "tasks_per_node", kStepTasks, "--ntasks-per-node of a step"),
    u32(6, "cpus_per_task", kStepTasks, "-c/--cpus-per-task of a step"),
    u32(7, "gpus_per_task", kStepTasks, "--gpus-per-task of a step"),
    nodes(8, "nodelist", "-w/--nodelist of a step"),
    nodes(9, "exclude", "-x/--exclude of a step"),
    flag(10, "overlap"),
    flag(11, "whole"),
    flag(12, "overcommit"),
    text(20, "cpu_bind", kBindingBytes, "--cpu-bind"),
    text(21, "gpu_bind", kBindingBytes, "--gpu-bind"),
    text(22, "mem_bind", kBindingBytes, "--mem-bind"),
    flag(23, "cyclic"),
    flag(24, "kept"),
    flag(25, "terminal"),
    u32(26, "plane", kStepTasks, "-m/--distribution of a step"),
    nodes(27, "hosts", "the file of hosts of a step"),
    flag(28, "fills"),
    u32(29, "tasks_per_socket", kStepTasks, "--ntasks-per-socket of a step"),
    flag(30, "whole_cores"),
};

}  // namespace

constexpr FieldBound kGresUpdate[] = {
    u32(1, "gpu_counting", 3),
    u32(2, "gpus", kJobGpus, "number of GPUs"),
    text(3, "gpu_type", kNameBytes, "type of the GPUs"),
    u32(4, "gpu_milli", 1000, "thousandths of a GPU (shards)"),
    parts(5, "others", model::kMostGres, kGresCountBounds, "kinds and types of Gres"),
    flag(6, "says_others"),
};
constinit const MessageBounds kGresUpdateBounds = {"GresUpdate", {}, kGresUpdate};

constinit const MessageBounds kJobSpecBounds = {"JobSpec", "What a job says of itself", kWholeJobSpec};
constinit const MessageBounds kTasksOfArrayBounds = {"TasksOfArray", "Tasks of an array", kTasksOfArray};
constinit const MessageBounds kArrayTasksBounds = {"ArrayTasks", "The tasks of an array", kArrayTasks};
constinit const MessageBounds kStepRequestBounds = {"StepRequest", "What a step asks for", kStepRequest};

}  // namespace gw::wire
