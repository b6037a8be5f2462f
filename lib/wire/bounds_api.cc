// Rows of the table of bounds: requests of clients. See bounds.h.
#include "model/progress.h"
#include "model/qos.h"
#include "wire/bounds_attributes.h"

namespace gw::wire {
namespace {

using namespace rows;

constexpr uint32_t kFilterNames = 1'000;      // users, partitions, names, ... of a filter
constexpr uint32_t kArraysAtOnce = 100;       // arrays of which a request names some tasks
constexpr uint32_t kAccessNames = 10'000;     // users, groups, QOS of a partition or reservation
constexpr uint64_t kNodeListBytes = 1 << 20;  // a list of nodes as text; what it expands to is bounded too
constexpr uint64_t kReasonBytes = 1'000;
constexpr uint64_t kTier = 1'000'000;
constexpr uint64_t kClientKeyBytes = 64;
constexpr uint64_t kMostAmount = uint64_t{1} << 50;
constexpr Name kScriptHint = "keep data out of the script";
constexpr Name kEnvironmentHint = "use --export=NONE or name the variables that the job needs";
constexpr Name kSpecHint = "shorten the arguments, the comment or the node lists";

constexpr FieldBound kJobFilter[] = {
    ids(1, "ids"),
    list(u32(2, "uids", kAny32, "-u/--user"), kFilterNames),
    texts(3, "users", kFilterNames, kNameBytes, "-u/--user"),
    texts(4, "partitions", kFilterNames, kNameBytes, "-p/--partition"),
    list(u32(5, "states", kAny32, "-t/--states"), 64),
    texts(6, "names", kFilterNames, 1024, "-n/--name"),
    nodes(7, "nodes", "-w/--nodelist"),
    texts(8, "accounts", kFilterNames, kNameBytes, "-A/--account"),
    texts(9, "qos", kFilterNames, kNameBytes, "-q/--qos"),
    flag(10, "all_states"),
    texts(11, "reservations", kFilterNames, kNameBytes, "-R/--reservation"),
    parts(12, "tasks", kArraysAtOnce, kTasksOfArrayBounds, "arrays of which some tasks are named"),
};
constexpr MessageBounds kJobFilterBounds = {"JobFilter", "Which jobs are listed, cancelled or ranked", kJobFilter};
constexpr FieldBound kByFilter[] = {part(1, "filter", kJobFilterBounds)};
constexpr FieldBound kListJobs[] = {part(1, "filter", kJobFilterBounds), flag(2, "whole_ranges")};
constexpr MessageBounds kListJobsBounds = {"ListJobsRequest", {}, kListJobs};
constexpr MessageBounds kListPrioritiesBounds = {"ListPrioritiesRequest", {}, kByFilter};

constexpr FieldBound kRecordFilter[] = {
    ids(1, "ids"),
    list(u32(2, "uids", kAny32, "-u/--user"), kFilterNames),
    texts(3, "users", kFilterNames, kNameBytes, "-u/--user"),
    texts(4, "accounts", kFilterNames, kNameBytes, "-A/--accounts"),
    texts(5, "partitions", kFilterNames, kNameBytes, "-r/--partition"),
    texts(6, "qos", kFilterNames, kNameBytes, "-q/--qos"),
    texts(7, "names", kFilterNames, 1024, "--name"),
    nodes(8, "nodes", "-N/--nodelist"),
    list(u32(9, "states", kAny32, "-s/--state"), 64),
    i64(10, "since_us", INT64_MIN, INT64_MAX),
    i64(11, "until_us", INT64_MIN, INT64_MAX),
    parts(12, "tasks", kArraysAtOnce, kTasksOfArrayBounds, "arrays of which some tasks are named"),
};
constexpr MessageBounds kRecordFilterBounds = {"RecordFilter", "Of which jobs records are listed", kRecordFilter};
constexpr FieldBound kListRecords[] = {part(1, "filter", kRecordFilterBounds), flag(2, "jobs_alone"),
                                       flag(3, "all_runs")};
constexpr MessageBounds kListRecordsBounds = {"ListRecordsRequest", {}, kListRecords};

constexpr FieldBound kSumRecords[] = {part(1, "filter", kRecordFilterBounds), list(choice(2, "by", 8), 8),
                                      flag(3, "lending")};
constexpr MessageBounds kSumRecordsBounds = {"SumRecordsRequest", {}, kSumRecords};

constexpr FieldBound kCreateStep[] = {
    u32(1, "job_id"), part(2, "step", kStepRequestBounds, "what a step asks for", 64 << 10),
    text(3, "client_key", kClientKeyBytes), flag(4, "immediate"), list(u32(5, "beside", kAny32, "steps"), 128)};
constexpr MessageBounds kCreateStepBounds = {"CreateStepRequest", {}, kCreateStep};

constexpr FieldBound with_hint(FieldBound f, Name hint) {
  f.hint = hint;
  return f;
}
constexpr FieldBound kSubmit[] = {
    with_hint(part(1, "spec", kJobSpecBounds, "the options of the job", kMostSpecBytes), kSpecHint),
    text(2, "script", 15 << 20, "the batch script", kScriptHint),
    text(3, "environment", 8 << 20, "the environment", kEnvironmentHint),
    flag(4, "test_only"),
    with_hint(list(part(5, "components", kJobSpecBounds, "components of a heterogeneous job", kMostSpecBytes), 128),
              {}),
    part(6, "first_step", kCreateStepBounds),
    part(7, "array", kArrayTasksBounds),
    text(8, "site_note", 8 << 10, "what the site tells about a submission"),
};
constexpr MessageBounds kSubmitBounds = {"SubmitRequest", "A submission", kSubmit};

constexpr FieldBound kShowJob[] = {u32(1, "id"), flag(2, "history"), flag(3, "script"), flag(4, "environment")};
constexpr MessageBounds kShowJobBounds = {"ShowJobRequest", {}, kShowJob};
constexpr FieldBound kWaitJob[] = {u32(1, "id"), flag(2, "until_started"), flag(3, "attend"), flag(4, "notices")};
constexpr MessageBounds kWaitJobBounds = {"WaitJobRequest", {}, kWaitJob};
constexpr FieldBound kNotifyJob[] = {u32(1, "id"), text(2, "text", kNoticeBytes, "message to a job")};
constexpr MessageBounds kNotifyJobBounds = {"NotifyJobRequest", {}, kNotifyJob};
constexpr FieldBound kWhyJob[] = {u32(1, "id"), flag(2, "offers")};
constexpr MessageBounds kWhyJobBounds = {"WhyJobRequest", {}, kWhyJob};
constexpr FieldBound kCancel[] = {part(1, "filter", kJobFilterBounds), i32(2, "signo", 0, kSignals, "signal"),
                                  flag(3, "batch_only"), flag(4, "full")};
constexpr MessageBounds kCancelBounds = {"CancelRequest", {}, kCancel};

/// Without the attributes that are one field.
constexpr FieldBound kAmendJob[] = {
    u32(1, "id", kAny32, "id of the job"),
    text(2, "comment", 16 << 10, "Comment"),
    u32(3, "derived_code", 255, "DerivedExitCode"),
    u32(4, "derived_signo", 127, "signal of DerivedExitCode"),
    flag(5, "check_only"),
};
constexpr MessageBounds kAmendJobBounds = {"AmendJobRequest", {}, kAmendJob};

constexpr FieldBound kUpdateJob[] = {
    ids(1, "ids"),
    text(5, "partition", 64 << 10, "Partition"),
    text(12, "features", 8 << 10, "Features"),
    u32(13, "min_nodes", kNodes, "NumNodes"),
    u32(14, "max_nodes", kNodes, "NumNodes"),
    text(15, "nodelist", kMostSpecBytes, "ReqNodeList"),
    text(16, "exclude", kMostSpecBytes, "ExcNodeList"),
    u32(20, "max_switches", kNodes, "Switches"),
    length(21, "switches_wait_us", "wait of Switches"),
    i64(24, "time_limit_change_us", -kLongest, kLongest, "change of TimeLimit"),
    parts(25, "tasks", kArraysAtOnce, kTasksOfArrayBounds, "arrays of which some tasks are named"),
    u32(26, "array_throttle", model::kMaxArrayIndex, "ArrayTaskThrottle"),
    u32(30, "task_count", kTasks, "NumTasks"),
    u32(31, "cpus_per_task", kCpus, "CPUsPerTask"),
    u32(32, "min_cpus", kCpus, "MinCPUsNode"),
    u64(33, "mem_per_node_mb", kMostMb, "MinMemoryNode"),
    u64(34, "mem_per_cpu_mb", kMostMb, "MinMemoryCPU"),
    text(35, "std_out", rows::kPathBytes, "StdOut"),
    text(36, "std_err", rows::kPathBytes, "StdErr"),
    text(37, "std_in", rows::kPathBytes, "StdIn"),
    text(38, "work_dir", rows::kPathBytes, "WorkDir"),
    u32(39, "tasks_per_node", kTasks, "TasksPerNode"),
    u64(40, "tmp_mb", kMostMb, "MinTmpDiskNode, in MiB"),
    flag(41, "contiguous"),
    flag(42, "exclusive"),
    u32(44, "sockets", kCpus, "ReqSockets"),
    u32(45, "socket_cores", kCpus, "ReqCores"),
    u32(46, "core_threads", kCpus, "ReqThreads"),
    u32(47, "cpu_count", kTasks, "NumCPUs"),
    moment(48, "end_us", "EndTime"),
    part(43, "gres", kGresUpdateBounds),
};
constexpr auto kWholeUpdateJob = with_attributes<bound_of_update>(kUpdateJob);
constexpr MessageBounds kUpdateJobBounds = {"UpdateJobRequest", "gcontrol update JobId=...", kWholeUpdateJob};
constexpr FieldBound kJobAction[] = {
    ids(1, "ids"), choice(2, "action", 100),
    parts(3, "tasks", kArraysAtOnce, kTasksOfArrayBounds, "arrays of which some tasks are named")};
constexpr MessageBounds kJobActionBounds = {"JobActionRequest", {}, kJobAction};

constexpr FieldBound kListNodes[] = {nodes(1, "names", "nodes"), flag(2, "topology")};
constexpr MessageBounds kListNodesBounds = {"ListNodesRequest", {}, kListNodes};
constexpr FieldBound kUpdateNode[] = {
    nodes(1, "names", "NodeName"),
    choice(2, "action", 100),
    text(3, "reason", kReasonBytes, "Reason"),
    flag(4, "dead"),
    list(u32(5, "gpus", kAny32, "GPUs"), 1024),
};
constexpr MessageBounds kUpdateNodeBounds = {"UpdateNodeRequest", "gcontrol update NodeName=...", kUpdateNode};

constexpr FieldBound kListPartitions[] = {texts(1, "names", kFilterNames, kNameBytes, "partitions"),
                                          flag(2, "effective")};
constexpr MessageBounds kListPartitionsBounds = {"ListPartitionsRequest", {}, kListPartitions};
constexpr FieldBound kUpdatePartition[] = {
    text(1, "name", kNameBytes, "PartitionName"),
    u32(2, "state", 3),
    length(3, "max_time_us", "MaxTime"),
    length(4, "default_time_us", "DefaultTime"),
    i32(5, "tier", -static_cast<int64_t>(kTier), kTier, "PriorityTier"),
    flag(6, "is_default"),
    text(7, "default_qos", kNameBytes, "QOS"),
    text(8, "nodes", kNodeListBytes, "Nodes"),
    u32(9, "max_nodes", kAny32, "MaxNodes"),
    flag(10, "default_for_compute"),
    flag(11, "default_for_aux"),
    text(12, "allow_qos", kNodeListBytes, "AllowQos"),
    text(13, "allow_users", kNodeListBytes, "AllowUsers"),
    text(14, "allow_groups", kNodeListBytes, "AllowGroups"),
    flag(15, "exclusive"),
    u32(16, "consolidate", 3),
    u32(17, "fit", 3),
    length(18, "grace_us", "GraceTime"),
};
constexpr MessageBounds kUpdatePartitionBounds = {"UpdatePartitionRequest", "gcontrol update PartitionName=...",
                                                  kUpdatePartition};

constexpr FieldBound kReservation[] = {
    text(1, "name", kNameBytes, "ReservationName"),
    nodes(2, "nodes", "Nodes"),
    u32(3, "node_count", kNodes, "NodeCnt"),
    text(4, "partition", kNameBytes, "PartitionName"),
    texts(5, "users", kAccessNames, kNameBytes, "Users"),
    texts(6, "accounts", kAccessNames, kNameBytes, "Accounts"),
    moment(7, "start_us", "StartTime"),
    length(8, "duration_us", "Duration"),
    length(9, "every_us", "repetition"),
    flag(10, "maintenance"),
    flag(11, "ignore_jobs"),
    flag(12, "overlap"),
    text(13, "creator", kNameBytes),
    flag(20, "is_active"),
    i64(21, "from_us", INT64_MIN, INT64_MAX),
    i64(22, "to_us", INT64_MIN, INT64_MAX),
    ids(23, "jobs"),
    u32(24, "core_count"),
    u32(25, "gpu_count"),
    u32(26, "hidden_jobs"),
};
constexpr FieldBound kCreateReservation[] = {part(1, "reservation", kReservationBounds)};
constexpr MessageBounds kCreateReservationBounds = {"CreateReservationRequest", {}, kCreateReservation};
constexpr FieldBound kUpdateReservation[] = {
    text(1, "name", kNameBytes, "ReservationName"),
    moment(2, "start_us", "StartTime"),
    length(3, "duration_us", "Duration"),
    moment(4, "end_us", "EndTime"),
    text(5, "users", kNodeListBytes, "Users"),
    text(6, "accounts", kNodeListBytes, "Accounts"),
    text(7, "nodes", kNodeListBytes, "Nodes"),
    u32(8, "node_count", kNodes, "NodeCnt"),
    flag(9, "maintenance"),
    length(10, "every_us", "repetition"),
};
constexpr MessageBounds kUpdateReservationBounds = {"UpdateReservationRequest", "gcontrol update ReservationName=...",
                                                    kUpdateReservation};
constexpr FieldBound kListReservations[] = {texts(1, "names", kFilterNames, kNameBytes, "reservations")};
constexpr MessageBounds kListReservationsBounds = {"ListReservationsRequest", {}, kListReservations};
constexpr FieldBound kByName[] = {text(1, "name", kNameBytes, "name")};
constexpr MessageBounds kDeleteReservationBounds = {"DeleteReservationRequest", {}, kByName};
constexpr MessageBounds kDeletePartitionBounds = {"DeletePartitionRequest", {}, kByName};

constexpr FieldBound kKeyOrigin[] = {text(1, "key", kKeyBytes),
                                     u32(2, "kind"),
                                     text(3, "by", kNameBytes),
                                     u32(4, "by_uid"),
                                     i64(5, "at_us", INT64_MIN, INT64_MAX),
                                     text(6, "place", 2 * kPathBytes)};
constexpr MessageBounds kKeyOriginBounds = {"KeyOrigin", {}, kKeyOrigin};
constexpr FieldBound kFragmentation[] = {text(1, "gpu_type", kNameBytes), u64(2, "gpus"),         real(3, "free_gpus"),
                                         real(4, "unusable_gpus"),        u32(5, "largest_gang"), u32(6, "workload")};
constexpr MessageBounds kFragmentationBounds = {"Fragmentation", {}, kFragmentation};
constexpr FieldBound kOrderWeight[] = {text(1, "name", kNameBytes), real(2, "value")};
constexpr MessageBounds kOrderWeightBounds = {"OrderWeight", {}, kOrderWeight};
constexpr FieldBound kPartition[] = {
    text(1, "name", kNameBytes, "PartitionName"),
    nodes(2, "nodes", "Nodes"),
    u32(3, "state", 3),
    flag(4, "is_default"),
    i32(5, "tier", -static_cast<int64_t>(kTier), kTier, "PriorityTier"),
    length(6, "default_time_us", "DefaultTime"),
    length(7, "max_time_us", "MaxTime"),
    u32(8, "max_nodes", kAny32, "MaxNodes"),
    texts(9, "allow_users", kAccessNames, kNameBytes, "AllowUsers"),
    texts(10, "allow_groups", kAccessNames, kNameBytes, "AllowGroups"),
    texts(11, "allow_qos", kAccessNames, kNameBytes, "AllowQos"),
    texts(12, "deny_users", kAccessNames, kNameBytes, "DenyUsers"),
    flag(13, "exclusive"),
    length(14, "lease_us", "Lease"),
    length(15, "grace_us", "GraceTime"),
    flag(16, "default_for_compute"),
    flag(17, "default_for_aux"),
    flag(18, "unlimited"),
    u64(19, "default_mem_per_cpu_mb", kMostMb, "DefMemPerCPU, in MiB"),
    u64(20, "default_mem_per_gpu_mb", kMostMb, "DefMemPerGPU, in MiB"),
    u32(21, "default_cpus_per_gpu", 65'536, "DefCpuPerGPU"),
    u32(22, "fit", 3),
    u32(23, "cores_per_gpu_kept", 65'536),
    flag(24, "allow_shared_gpus"),
    text(25, "default_qos", kNameBytes, "QOS"),
    flag(26, "is_made"),
    flag(27, "is_gone"),
    u32(28, "consolidate", 3),
    parts(29, "origins", 64, kKeyOriginBounds),
    u32(30, "total_cpus"),
    u32(31, "total_nodes"),
    u32(32, "total_gpus"),
    parts(33, "fragmentation", 1'000, kFragmentationBounds),
    flag(34, "share_suspended_gpus"),
    text(35, "order", kNameBytes),
    parts(36, "order_weights", 64, kOrderWeightBounds),
    length(37, "quantum_us", "Quantum"),
    u32(38, "min_shared_rate", 100, "MinSharedRate, in percent"),
    text(39, "filter", kNameBytes),
    parts(40, "filter_weights", 64, kOrderWeightBounds),
};
constexpr FieldBound kCreatePartition[] = {part(1, "partition", kPartitionBounds)};
constexpr MessageBounds kCreatePartitionBounds = {"CreatePartitionRequest", {}, kCreatePartition};

constexpr FieldBound kQosAmount[] = {text(1, "resource", kNameBytes, "resource of a quota"),
                                     u64(2, "amount", kMostAmount, "amount of a quota")};
constexpr MessageBounds kQosAmountBounds = {"QosAmount", {}, kQosAmount};
constexpr FieldBound kAmountsPatch[] = {flag(1, "clear"),
                                        parts(2, "set", 100, kQosAmountBounds, "resources of a quota"),
                                        texts(3, "drop", 100, kNameBytes, "resources of a quota")};
constexpr MessageBounds kAmountsPatchBounds = {"AmountsPatch", {}, kAmountsPatch};
constexpr FieldBound kNamesPatch[] = {flag(1, "clear"),
                                      texts(2, "add", 1'000, kNameBytes, "users or operators of a QOS"),
                                      texts(3, "drop", 1'000, kNameBytes, "users or operators of a QOS")};
constexpr MessageBounds kNamesPatchBounds = {"NamesPatch", {}, kNamesPatch};
constexpr FieldBound kGpuBudget[] = {u64(1, "gpu_seconds", model::kMostGpuSeconds, "budget"), choice(2, "period", 100),
                                     flag(3, "borrows")};
constexpr MessageBounds kGpuBudgetBounds = {"GpuBudget", {}, kGpuBudget};
constexpr FieldBound kQosPatch[] = {
    text(1, "parent", kNameBytes, "parent"),
    text(2, "description", 4096, "description"),
    i64(3, "priority", -kPriority, kPriority, "priority"),
    u32(4, "weight", 1'000'000, "weight"),
    flag(5, "preempt_children"),
    length(6, "min_runtime_us", "min_runtime"),
    length(7, "grace_us", "grace", INT64_MIN),
    length(8, "max_wall_us", "max_wall"),
    u32(9, "max_jobs", kAny32, "max_jobs"),
    u32(10, "max_submit", kAny32, "max_submit"),
    u32(11, "max_jobs_per_user", kAny32, "max_jobs_per_user"),
    u32(12, "max_submit_per_user", kAny32, "max_submit_per_user"),
    part(13, "guaranteed", kAmountsPatchBounds),
    part(14, "limit", kAmountsPatchBounds),
    part(15, "limit_per_user", kAmountsPatchBounds),
    part(16, "users", kNamesPatchBounds),
    part(17, "operators", kNamesPatchBounds),
    length(18, "patience_us", "patience", INT64_MIN),
    part(19, "budget", kGpuBudgetBounds),
};
constexpr MessageBounds kQosPatchBounds = {"QosPatch", {}, kQosPatch};
constexpr FieldBound kQuotaChange[] = {
    choice(1, "what", 100),
    text(2, "name", kNameBytes, "name of a QOS or user"),
    flag(3, "is_user"),
    part(4, "qos", kQosPatchBounds),
    text(5, "default_qos", kNameBytes, "default QOS"),
    text(6, "move_to", kNameBytes, "--move-to"),
    part(7, "budget", kGpuBudgetBounds),
};
constexpr MessageBounds kQuotaChangeBounds = {"QuotaChange", {}, kQuotaChange};
constexpr FieldBound kChangeQuotas[] = {parts(1, "changes", 10'000, kQuotaChangeBounds, "changes of quotas"),
                                        flag(2, "dry_run"), flag(3, "force"), flag(4, "replace")};
constexpr MessageBounds kChangeQuotasBounds = {"ChangeQuotasRequest", "gacctmgr", kChangeQuotas};
constexpr FieldBound kExplainQuota[] = {text(1, "preemptor", kNameBytes, "QOS"), text(2, "from", kNameBytes, "QOS"),
                                        u32(3, "preemptor_job"), u32(4, "from_job")};
constexpr MessageBounds kExplainQuotaBounds = {"ExplainQuotaRequest", {}, kExplainQuota};

constexpr FieldBound kListOffers[] = {
    text(1, "qos", kNameBytes, "QOS"), texts(2, "partitions", 1'000, kNameBytes, "partitions"), u32(3, "uid"),
    length(4, "longest_us", "longest time of a job"), text(5, "id", kNameBytes, "offer")};
constexpr MessageBounds kListOffersBounds = {"ListOffersRequest", "gangway offers", kListOffers};

constexpr FieldBound kTicket[] = {u32(1, "job_id"), u32(2, "step"), text(3, "client_key", kClientKeyBytes),
                                  flag(4, "watch")};
constexpr MessageBounds kTicketBounds = {"TicketRequest", {}, kTicket};
constexpr FieldBound kListSteps[] = {ids(1, "job_ids")};
constexpr MessageBounds kListStepsBounds = {"ListStepsRequest", {}, kListSteps};
constexpr FieldBound kSignalStep[] = {u32(1, "job_id"), u32(2, "step"), i32(3, "signo", 0, kSignals, "signal")};
constexpr MessageBounds kSignalStepBounds = {"SignalStepRequest", {}, kSignalStep};
constexpr FieldBound kEndAllocation[] = {u32(1, "job_id"), i32(2, "exit_code"), i32(3, "exit_signo")};
constexpr MessageBounds kEndAllocationBounds = {"EndAllocationRequest", {}, kEndAllocation};
constexpr FieldBound kStepUsage[] = {u32(1, "job_id"), list(u32(2, "steps", kAny32, "steps"), 1'000)};
constexpr MessageBounds kStepUsageBounds = {"StepUsageRequest", {}, kStepUsage};
constexpr FieldBound kCheckpointed[] = {u32(1, "job_id")};
constexpr MessageBounds kCheckpointedBounds = {"CheckpointedRequest", {}, kCheckpointed};
constexpr FieldBound kProgress[] = {u32(1, "job_id"), u64(2, "step", model::kMostSteps, "steps of a job"),
                                    u64(3, "of", model::kMostSteps, "steps of a job"),
                                    u64(4, "rate_milli", model::kMostSteps, "rate of a job")};
constexpr MessageBounds kProgressBounds = {"ProgressRequest", {}, kProgress};

constexpr MessageBounds kShowConfigBounds = {"ShowConfigRequest", {}, {}};
constexpr FieldBound kListEvents[] = {
    u32(1, "job"),        text(2, "node", kNameBytes, "node of events"), u32(3, "last", kMostEvents, "last events"),
    flag(4, "of_no_job"), i64(5, "since_us", INT64_MIN, INT64_MAX),      i64(6, "until_us", INT64_MIN, INT64_MAX)};
constexpr MessageBounds kListEventsBounds = {"ListEventsRequest", {}, kListEvents};
constexpr FieldBound kListAudit[] = {u32(1, "last", kMostEvents, "last lines of the audit"),
                                     i64(2, "since_us", INT64_MIN, INT64_MAX), i64(3, "until_us", INT64_MIN, INT64_MAX),
                                     u32(4, "uid")};
constexpr MessageBounds kListAuditBounds = {"ListAuditRequest", {}, kListAudit};
constexpr FieldBound kSetLogLevel[] = {text(1, "level", kNameBytes, "log level")};
constexpr MessageBounds kSetLogLevelBounds = {"SetLogLevelRequest", {}, kSetLogLevel};
constexpr uint64_t kTokenHashBytes = 64;
constexpr FieldBound kLifetime = [] {
  FieldBound f = i64(2, "lifetime_us", 0, uint64_t{366} * 24 * 3600 * 1'000'000, "lifetime of a token");
  f.hint = "a length of time up to 366 days";
  return f;
}();
constexpr FieldBound kMakeToken[] = {text(1, "hash", kTokenHashBytes), kLifetime,
                                     text(3, "name", kNameBytes, "name of a token"), flag(4, "read_only")};
constexpr MessageBounds kMakeTokenBounds = {"MakeTokenRequest", "gangway token make", kMakeToken};
constexpr FieldBound kListTokens[] = {flag(1, "all_users")};
constexpr MessageBounds kListTokensBounds = {"ListTokensRequest", {}, kListTokens};
constexpr FieldBound kRevokeTokens[] = {texts(1, "ids", 1'000, kNameBytes, "tokens"), flag(2, "all")};
constexpr MessageBounds kRevokeTokensBounds = {"RevokeTokensRequest", "gangway token revoke", kRevokeTokens};
constexpr FieldBound kActFor[] = {text(1, "token", kNameBytes), text(2, "hash", kTokenHashBytes)};
constexpr MessageBounds kActForBounds = {"ActForRequest", {}, kActFor};
constexpr FieldBound kAwaitChange[] = {u64(1, "version")};
constexpr MessageBounds kAwaitChangeBounds = {"AwaitChangeRequest", {}, kAwaitChange};
constexpr FieldBound kToken[] = {
    text(1, "id", kNameBytes),   text(2, "hash", kTokenHashBytes), u32(3, "uid"),        u32(4, "gid"),
    text(5, "user", kNameBytes), text(6, "name", kNameBytes),      flag(7, "read_only"), moment(8, "made_us"),
    moment(9, "expires_us")};
constexpr MessageBounds kListHeldAsideBounds = {"ListHeldAsideRequest", {}, {}};
constexpr FieldBound kDeleteHeldAside[] = {text(1, "kind", kKeyBytes, "kind of a row that is held aside"),
                                           text(2, "name", kPathBytes, "name of a row that is held aside")};
constexpr MessageBounds kDeleteHeldAsideBounds = {"DeleteHeldAsideRequest", {}, kDeleteHeldAside};
constexpr FieldBound kReconfigure[] = {flag(1, "check_only")};
constexpr MessageBounds kReconfigureBounds = {"ReconfigureRequest", {}, kReconfigure};
constexpr MessageBounds kPingBounds = {"PingRequest", {}, {}};
constexpr FieldBound kBackup[] = {text(1, "path", kPathBytes, "path of a backup")};
constexpr MessageBounds kBackupBounds = {"BackupRequest", {}, kBackup};
constexpr MessageBounds kTakeSnapshotBounds = {"TakeSnapshotRequest", {}, {}};
constexpr MessageBounds kListQuotasBounds = {"ListQuotasRequest", {}, {}};
constexpr FieldBound kShowFigures[] = {flag(1, "reset")};
constexpr MessageBounds kShowFiguresBounds = {"ShowFiguresRequest", {}, kShowFigures};
constexpr FieldBound kShowShares[] = {ids(1, "job_ids"), flag(2, "all_jobs")};
constexpr MessageBounds kShowSharesBounds = {"ShowSharesRequest", {}, kShowShares};

constexpr FieldBound kApiRequest[] = {
    u64(1, "id"),
    text(2, "client_id", kKeyBytes, "name that the command gives a request"),
    part(10, "submit", kSubmitBounds),
    part(11, "list_jobs", kListJobsBounds),
    part(12, "show_job", kShowJobBounds),
    part(13, "wait_job", kWaitJobBounds),
    part(14, "cancel", kCancelBounds),
    part(15, "update_job", kUpdateJobBounds),
    part(16, "job_action", kJobActionBounds),
    part(17, "list_nodes", kListNodesBounds),
    part(18, "update_node", kUpdateNodeBounds),
    part(19, "list_partitions", kListPartitionsBounds),
    part(20, "update_partition", kUpdatePartitionBounds),
    part(21, "show_config", kShowConfigBounds),
    part(22, "reconfigure", kReconfigureBounds),
    part(23, "ping", kPingBounds),
    part(24, "backup", kBackupBounds),
    part(25, "list_reservations", kListReservationsBounds),
    part(26, "create_reservation", kCreateReservationBounds),
    part(27, "update_reservation", kUpdateReservationBounds),
    part(28, "delete_reservation", kDeleteReservationBounds),
    part(45, "list_priorities", kListPrioritiesBounds),
    part(48, "take_snapshot", kTakeSnapshotBounds),
    part(50, "change_quotas", kChangeQuotasBounds),
    part(51, "list_quotas", kListQuotasBounds),
    part(52, "show_shares", kShowSharesBounds),
    part(53, "explain_quota", kExplainQuotaBounds),
    part(54, "checkpointed", kCheckpointedBounds),
    part(55, "create_partition", kCreatePartitionBounds),
    part(56, "delete_partition", kDeletePartitionBounds),
    part(57, "create_step", kCreateStepBounds),
    part(58, "ticket", kTicketBounds),
    part(59, "list_steps", kListStepsBounds),
    part(60, "signal_step", kSignalStepBounds),
    part(61, "end_allocation", kEndAllocationBounds),
    part(70, "step_usage", kStepUsageBounds),
    part(71, "list_held_aside", kListHeldAsideBounds),
    part(72, "delete_held_aside", kDeleteHeldAsideBounds),
    part(73, "list_events", kListEventsBounds),
    part(74, "list_records", kListRecordsBounds),
    part(75, "sum_records", kSumRecordsBounds),
    part(76, "show_figures", kShowFiguresBounds),
    part(77, "amend_job", kAmendJobBounds),
    part(78, "notify_job", kNotifyJobBounds),
    part(79, "why_job", kWhyJobBounds),
    part(80, "list_audit", kListAuditBounds),
    part(81, "set_log_level", kSetLogLevelBounds),
    part(82, "make_token", kMakeTokenBounds),
    part(83, "list_tokens", kListTokensBounds),
    part(84, "revoke_tokens", kRevokeTokensBounds),
    part(85, "act_for", kActForBounds),
    part(86, "await_change", kAwaitChangeBounds),
    part(87, "progress", kProgressBounds),
    part(88, "list_offers", kListOffersBounds),
};

}  // namespace

constinit const MessageBounds kApiRequestBounds = {"ApiRequest", "Every request", kApiRequest};
constinit const MessageBounds kPartitionBounds = {"Partition", "gcontrol create PartitionName=...", kPartition};
constinit const MessageBounds kReservationBounds = {"Reservation", "gcontrol create ReservationName=...", kReservation};
constinit const MessageBounds kTokenBounds = {"Token", {}, kToken};

}  // namespace gw::wire
