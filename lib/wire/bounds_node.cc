// Rows of the table of bounds: messages of nodes. See bounds.h.
#include "wire/bounds_rows.h"

namespace gw::wire {
namespace {

using namespace rows;

constexpr uint64_t kWords = 64 << 10;  // what a node says in words; the controller keeps less of it
constexpr uint32_t kDevices = 4096, kCores = 65'536, kGpus = 1024, kRuns = 100'000;
constexpr uint32_t kNodeGpus = 256;  // compared in pairs, since links are between pairs
constexpr int64_t kPast = INT64_MIN;

constexpr FieldBound kNumaNode[] = {u32(1, "os_index"), u32(2, "socket"),
                                    u64(3, "memory_mb", kMostMb, "memory, in MiB")};
constexpr MessageBounds kNumaNodeBounds = {"NumaNode", {}, kNumaNode};
constexpr FieldBound kCore[] = {u32(1, "socket"), u32(2, "numa"), u32(3, "l3"),
                                list(u32(4, "pus", kAny32, "hardware threads of a core"), kDevices)};
constexpr MessageBounds kCoreBounds = {"Core", {}, kCore};
constexpr FieldBound kGpu[] = {
    text(1, "type", kNameBytes),
    text(2, "model", kNameBytes),
    text(3, "vendor", kNameBytes),
    text(4, "pci", kNameBytes),
    u32(5, "partition"),
    u32(6, "socket"),
    u32(7, "numa"),
    u32(8, "pcie_switch"),
    u32(9, "host_bridge"),
    list(u32(10, "near_cores"), kCores),
    text(11, "uuid", kNameBytes),
    u64(12, "memory_mb", kMostMb, "memory, in MiB"),
    texts(13, "devices", 64, kPathBytes),
};
constexpr MessageBounds kGpuBounds = {"Gpu", {}, kGpu};
constexpr FieldBound kNic[] = {
    text(1, "name", kNameBytes),
    text(2, "pci", kNameBytes),
    text(3, "kind", kNameBytes),
    u32(4, "socket"),
    u32(5, "numa"),
    u32(6, "pcie_switch"),
    u32(7, "host_bridge"),
};
constexpr MessageBounds kNicBounds = {"Nic", {}, kNic};
constexpr FieldBound kGpuLink[] = {u32(1, "a"), u32(2, "b"), u64(3, "mbps", kMostMb)};
constexpr MessageBounds kGpuLinkBounds = {"GpuLink", {}, kGpuLink};
constexpr FieldBound kTopology[] = {
    text(1, "product", kNameBytes),
    text(2, "link_name", kNameBytes),
    u32(3, "sockets", kDevices, "sockets"),
    parts(4, "numa_nodes", kDevices, kNumaNodeBounds, "NUMA nodes"),
    parts(5, "cores", kCores, kCoreBounds, "cores"),
    u64(6, "memory_mb", kMostMb, "memory, in MiB"),
    parts(7, "gpus", kNodeGpus, kGpuBounds, "GPUs"),
    parts(8, "nics", kDevices, kNicBounds, "network adapters"),
    parts(9, "links", kNodeGpus* kNodeGpus / 2, kGpuLinkBounds, "links between GPUs"),
};
constexpr MessageBounds kTopologyBounds = {"NodeTopology", "How a node describes itself", kTopology};

constexpr FieldBound kStateMark[] = {text(1, "root", kNameBytes), text(2, "incarnation", kNameBytes),
                                     u64(3, "commit", INT64_MAX), u32(4, "next_job")};
constexpr MessageBounds kStateMarkBounds = {"StateMark", {}, kStateMark};
constexpr FieldBound kRunState[] = {u32(1, "job"),
                                    u32(2, "attempt"),
                                    choice(3, "phase", 100),
                                    u32(4, "step"),
                                    text(5, "address", kNameBytes),
                                    text(6, "key", kKeyBytes),
                                    part(7, "placed_in", kStateMarkBounds),
                                    text(8, "first_node", kNameBytes)};
constexpr MessageBounds kRunStateBounds = {"RunState", {}, kRunState};
constexpr FieldBound kNodeHost[] = {text(1, "os", kWords), text(2, "arch", kNameBytes),
                                    i64(3, "booted_us", kPast, INT64_MAX), i64(4, "started_us", kPast, INT64_MAX)};
constexpr MessageBounds kNodeHostBounds = {"NodeHost", {}, kNodeHost};
constexpr FieldBound kRegister[] = {
    text(1, "name", kNameBytes),
    text(2, "boot_id", kNameBytes),
    text(3, "version", kNameBytes),
    part(4, "topology", kTopologyBounds, "description of a node", 8 << 20),
    text(5, "containment", kPathBytes),
    flag(6, "is_emulated"),
    parts(7, "runs", kRuns, kRunStateBounds, "runs on a node"),
    i64(8, "now_us", kPast, INT64_MAX),
    text(9, "warning", kWords, "warning of a node"),
    text(10, "instance", kNameBytes),
    text(11, "address", kNameBytes),
    part(12, "seen", kStateMarkBounds),
    part(13, "host", kNodeHostBounds),
};
constexpr MessageBounds kRegisterBounds = {"Register", "A node registers", kRegister};

constexpr FieldBound kHeartbeat[] = {i64(1, "now_us", kPast, INT64_MAX), i64(2, "echo_us", kPast, INT64_MAX),
                                     u32(3, "load_centi"), u64(4, "free_mem_mb")};
constexpr MessageBounds kHeartbeatBounds = {"Heartbeat", {}, kHeartbeat};
constexpr FieldBound kPrepared[] = {u32(1, "job"), u32(2, "attempt"), u32(3, "step"), text(4, "address", kNameBytes),
                                    text(5, "key", kKeyBytes)};
constexpr MessageBounds kPreparedBounds = {"Prepared", {}, kPrepared};
constexpr FieldBound kPrepareFailed[] = {u32(1, "job"),         u32(2, "attempt"),
                                         u32(3, "reason"),      text(4, "detail", kWords, "why a run could not start"),
                                         flag(5, "node_fault"), u32(6, "step")};
constexpr MessageBounds kPrepareFailedBounds = {"PrepareFailed", {}, kPrepareFailed};
constexpr FieldBound kStarted[] = {u32(1, "job"), u32(2, "attempt"), i64(3, "at_us", kPast, INT64_MAX)};
constexpr MessageBounds kStartedBounds = {"Started", {}, kStarted};
constexpr FieldBound kBatchExited[] = {
    u32(1, "job"),
    u32(2, "attempt"),
    i32(3, "exit_code"),
    i32(4, "exit_signo"),
    flag(5, "oom"),
    u64(6, "peak_mem_mb"),
    u64(7, "limit_mem_mb"),
    u32(8, "reason"),
    text(9, "detail", kWords, "how a run ended"),
    i64(10, "ended_us", kPast, INT64_MAX),
    u32(11, "step"),
};
constexpr MessageBounds kBatchExitedBounds = {"BatchExited", {}, kBatchExited};
constexpr FieldBound kUseSpread[] = {u64(1, "sum"),
                                     u64(2, "most"),
                                     u64(3, "least"),
                                     u32(4, "most_task"),
                                     u32(5, "least_task"),
                                     text(6, "most_node", kNameBytes),
                                     text(7, "least_node", kNameBytes)};
constexpr MessageBounds kUseSpreadBounds = {"UseSpread", {}, kUseSpread};
constexpr FieldBound kGpuUse[] = {u32(1, "gpus"),      u64(2, "seen_us"),  u64(3, "busy_us"), u64(4, "idle_us"),
                                  u32(5, "most_busy"), u64(6, "most_mem"), u64(7, "sum_mem")};
constexpr MessageBounds kGpuUseBounds = {"GpuUse", {}, kGpuUse};
constexpr FieldBound kRunUse[] = {u32(1, "tasks"), u64(2, "user_us"), u64(3, "system_us"),
                                  parts(4, "spreads", 64, kUseSpreadBounds, "kinds of use"),
                                  part(5, "gpu", kGpuUseBounds)};
constexpr MessageBounds kRunUseBounds = {"RunUse", {}, kRunUse};
constexpr FieldBound kDone[] = {
    u32(1, "job"),
    u32(2, "attempt"),
    u64(3, "peak_mem_mb"),
    flag(4, "oom"),
    text(5, "problem", kWords, "what of a run was left"),
    flag(6, "lease_expired"),
    u32(7, "generation"),
    u32(8, "step"),
    part(9, "use", kRunUseBounds),
};
constexpr MessageBounds kDoneBounds = {"Done", {}, kDone};
constexpr FieldBound kUnfit[] = {u32(1, "job"), u32(2, "attempt"), text(3, "why", kWords, "why a node is unfit"),
                                 flag(4, "by_prolog")};
constexpr MessageBounds kUnfitBounds = {"Unfit", {}, kUnfit};
constexpr FieldBound kSuspended[] = {u32(1, "job"), u32(2, "attempt"), u32(3, "round"),
                                     text(4, "problem", kWords, "why a run was not suspended")};
constexpr MessageBounds kSuspendedBounds = {"Suspended", {}, kSuspended};

constexpr FieldBound kTaskUsage[] = {u32(1, "rank"),     u32(2, "pid"),       i64(3, "cpu_us", kPast, INT64_MAX),
                                     u64(4, "rss"),      u64(5, "peak_rss"),  u64(6, "vm"),
                                     u64(7, "peak_vm"),  u32(8, "processes"), u64(9, "read"),
                                     u64(10, "written"), u64(11, "pages")};
constexpr MessageBounds kTaskUsageBounds = {"TaskUsage", {}, kTaskUsage};
constexpr FieldBound kGpuUsage[] = {u32(1, "index"), u32(2, "busy_percent"), u64(3, "mem")};
constexpr MessageBounds kGpuUsageBounds = {"GpuUsage", {}, kGpuUsage};
constexpr FieldBound kNodeUsage[] = {
    text(1, "node", kNameBytes),
    parts(2, "tasks", kRuns, kTaskUsageBounds, "tasks of a step on a node"),
    u64(3, "mem"),
    u64(4, "peak_mem"),
    i64(5, "cpu_us", kPast, INT64_MAX),
    parts(6, "gpus", kGpus, kGpuUsageBounds, "GPUs"),
    text(7, "problem", kWords, "why there are no figures"),
};
constexpr MessageBounds kNodeUsageBounds = {"NodeUsage", {}, kNodeUsage};
constexpr FieldBound kUsage[] = {u64(1, "id"), u32(2, "job"), u32(3, "attempt"), u32(4, "step"),
                                 part(5, "usage", kNodeUsageBounds)};
constexpr MessageBounds kUsageBounds = {"Usage", {}, kUsage};

constexpr FieldBound kNodeToController[] = {
    part(1, "register_node", kRegisterBounds),
    part(2, "heartbeat", kHeartbeatBounds),
    part(3, "prepared", kPreparedBounds),
    part(4, "prepare_failed", kPrepareFailedBounds),
    part(5, "started", kStartedBounds),
    part(6, "batch_exited", kBatchExitedBounds),
    part(7, "done", kDoneBounds),
    part(8, "suspended", kSuspendedBounds),
    part(9, "unfit", kUnfitBounds),
    part(20, "usage", kUsageBounds),
};

}  // namespace

constinit const MessageBounds kNodeToControllerBounds = {"NodeToController", "Messages of nodes", kNodeToController};

}  // namespace gw::wire
