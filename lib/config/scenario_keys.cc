// The tables of keys of scenario files. See scenario_keys.h.
#include "config/scenario_keys.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace gw::config {
namespace {

constexpr int64_t kYear = 366 * 86'400, kAnyU32 = 4'294'967'294, kTiB = 1 << 20, kBillion = 1'000'000'000;
constexpr auto kLive = Reload::kLive;  // Says nothing here.
constexpr std::string_view kFits = "best|worst|spread";

template <typename T>
constexpr Key<T> text(std::string_view name, Ref (*at)(T&), std::string_view doc) {
  return {{name, Kind::kText, kLive, doc}, at};
}
template <typename T>
constexpr Key<T> number(std::string_view name, Ref (*at)(T&), std::string_view doc, int64_t min, int64_t max) {
  return {{name, Kind::kNumber, kLive, doc, min, max}, at};
}
template <typename T>
constexpr Key<T> of(Kind kind, std::string_view name, Ref (*at)(T&), std::string_view doc) {
  return {{name, kind, kLive, doc}, at};
}
template <typename T>
constexpr Key<T> choice(std::string_view name, Ref (*at)(T&), std::string_view doc, std::string_view choices) {
  return {{name, Kind::kChoice, kLive, doc, 0, 0, choices}, at};
}
template <typename T>
constexpr Key<T> memory(std::string_view name, Ref (*at)(T&), std::string_view doc) {
  return {{name, Kind::kMemory, kLive, doc, 0, 1024 * kTiB}, at};
}
template <typename T>
constexpr Key<T> limit(std::string_view name, Ref (*at)(T&), std::string_view doc) {
  return {{name, Kind::kLimit, kLive, doc, 0, 10 * kYear}, at};
}

const Key<NodeLine> kNodeLines[] = {
    of<NodeLine>(
        Kind::kHosts, "name", [](NodeLine& n) -> Ref { return &n.names; },
        "Name, or host list of nodes that share this line."),
    number<NodeLine>(
        "gpus", [](NodeLine& n) -> Ref { return &n.gpus; },
        "GPUs. Beside `topology`: so many of its GPUs, the first ones.", 0, 1024),
    number<NodeLine>(
        "cpus", [](NodeLine& n) -> Ref { return &n.cpus; },
        "Hardware threads; 128 if not given. Beside `topology`: its cores, cut or extended evenly to that "
        "many threads.",
        1, 65'536),
    memory<NodeLine>(
        "memory", [](NodeLine& n) -> Ref { return &n.mem_mb; },
        "Memory; 1T if not given. Beside `topology`: instead of its."),
    text<NodeLine>(
        "topology", [](NodeLine& n) -> Ref { return &n.topology; },
        "A generated machine (dgx-h100, a100-pcie, l40s, cpu), or an hwloc XML file, relative to this file. "
        "Without: GPUs all alike, linked by nothing; cores of one thread."),
    of<NodeLine>(
        Kind::kName, "gpu_type", [](NodeLine& n) -> Ref { return &n.gpu_type; },
        "What its GPUs are called; the topology's if not given."),
    of<NodeLine>(
        Kind::kNames, "features", [](NodeLine& n) -> Ref { return &n.features; },
        "Words that jobs ask for by `constraint`."),
    number<NodeLine>(
        "weight", [](NodeLine& n) -> Ref { return &n.weight; },
        "Among nodes that suit a job equally the lowest is taken first.", 0, kAnyU32),
};

const Key<PolicyLine> kPolicyLines[] = {
    of<PolicyLine>(
        Kind::kName, "order", [](PolicyLine& p) -> Ref { return &p.order; },
        "Which job is next, where the partition has no order of its own: an order of docs/policies.md; fifo_skip if "
        "not given."),
    {{"order_weights", Kind::kWeights, kLive, "Weights of that order, such as {age: 1000}.", -kBillion, kBillion},
     [](PolicyLine& p) -> Ref { return &p.order_weights; }},
    of<PolicyLine>(
        Kind::kName, "share", [](PolicyLine& p) -> Ref { return &p.share; },
        "How what nobody needs of its own is divided among QOS: a share policy of docs/policies.md; by_weight if not "
        "given."),
    {{"share_weights", Kind::kWeights, kLive, "Weights of that policy, such as {dead_zone: 0.1}.", -kBillion, kBillion},
     [](PolicyLine& p) -> Ref { return &p.share_weights; }},
    of<PolicyLine>(
        Kind::kName, "rate_model", [](PolicyLine& p) -> Ref { return &p.rate_model; },
        "How fast jobs get on by their size, and beside others on a GPU: a rate model of docs/policies.md; alike if "
        "not "
        "given, which is: no matter."),
    text<PolicyLine>(
        "usage_half_life", [](PolicyLine& p) -> Ref { return &p.usage_half_life; },
        "Time in which past use counts half, for orders that look at users and for fairness_over_time; 7d if not "
        "given."),
    {{"fairness_over_time", Kind::kDecimal, kLive,
      "How much the past use of a QOS lowers its part of what nobody is guaranteed; 0 if not given: not at all.", 0,
      1000},
     [](PolicyLine& p) -> Ref { return &p.fairness_over_time; }},
    choice<PolicyLine>(
        "fit", [](PolicyLine& p) -> Ref { return &p.fit; },
        "Which of the nodes that would do: the fullest, the emptiest, one after the other.", kFits),
    number<PolicyLine>(
        "reservations", [](PolicyLine& p) -> Ref { return &p.reservations; },
        "Blocked jobs of each partition that get a reservation in a pass; 16 if not given.", 0, 100'000),
    number<PolicyLine>(
        "candidates", [](PolicyLine& p) -> Ref { return &p.candidates; },
        "Nodes of different state that are compared for a task; 32 if not given, 0: all.", 0, kAnyU32),
    number<PolicyLine>(
        "preemptions_per_hour", [](PolicyLine& p) -> Ref { return &p.preemptions_per_hour; },
        "Once so many jobs of a QOS were preempted within an hour, no more of them are for a job beyond its guarantee; "
        "600 "
        "if not given.",
        0, 1'000'000),
    text<PolicyLine>(
        "grace", [](PolicyLine& p) -> Ref { return &p.grace; },
        "How long a job that is preempted still runs; 0s if not given."),
    text<PolicyLine>(
        "quantum", [](PolicyLine& p) -> Ref { return &p.quantum; },
        "So long a job runs at least before it makes room for one whose turn has come; 1m if not given."),
    text<PolicyLine>(
        "patience", [](PolicyLine& p) -> Ref { return &p.patience; },
        "How long a job waits before nodes are kept for it; 12h if not given, 0s: for ever. See quotas.md."),
    text<PolicyLine>(
        "reclaim_delay_max", [](PolicyLine& p) -> Ref { return &p.reclaim_delay_max; },
        "How long a waiting job is delayed at most by the protection of jobs that were preempted before; 15m if not "
        "given, 0s: nobody is protected. See quotas.md."),
    choice<PolicyLine>(
        "reclaim", [](PolicyLine& p) -> Ref { return &p.reclaim; },
        "What a QOS may take back from another; fair_share if not given. See quotas.md.", "guaranteed|fair_share|none"),
    of<PolicyLine>(
        Kind::kBool, "consolidate", [](PolicyLine& p) -> Ref { return &p.consolidate; },
        "Move preemptible jobs to make room, in all partitions; see quotas.md."),
    of<PolicyLine>(
        Kind::kBool, "preempt", [](PolicyLine& p) -> Ref { return &p.preempt; },
        "Inside one QOS a job of higher priority takes from those of a lower one; false if not given."),
};

const Key<QosLine> kQosLines[] = {
    of<QosLine>(
        Kind::kName, "name", [](QosLine& q) -> Ref { return &q.name; }, "Name of the QOS."),
    of<QosLine>(
        Kind::kName, "parent", [](QosLine& q) -> Ref { return &q.parent; },
        "The QOS above it; the root, `cluster`, if not given."),
    text<QosLine>(
        "description", [](QosLine& q) -> Ref { return &q.description; }, "For people."),
    number<QosLine>(
        "weight", [](QosLine& q) -> Ref { return &q.weight; }, "Its part of what nobody is guaranteed.", 0, 1'000'000),
    number<QosLine>(
        "priority", [](QosLine& q) -> Ref { return &q.priority; }, "Higher gets what nobody is guaranteed first.",
        -kBillion, kBillion),
    text<QosLine>(
        "min_runtime", [](QosLine& q) -> Ref { return &q.min_runtime; },
        "Nobody is preempted so soon after its start; as above it if not given."),
    text<QosLine>(
        "grace", [](QosLine& q) -> Ref { return &q.grace; },
        "How long its jobs still run when they are preempted; as above it, or the policy's, if not given."),
    text<QosLine>(
        "patience", [](QosLine& q) -> Ref { return &q.patience; },
        "How long its jobs wait before nodes are kept for them; as above it, or the policy's, if not given."),
    text<QosLine>(
        "max_wall", [](QosLine& q) -> Ref { return &q.max_wall; },
        "Longest time limit of its jobs and of those below it; a job without a time limit gets it, one with a longer "
        "one "
        "can never run; none if not given."),
    number<QosLine>(
        "max_jobs", [](QosLine& q) -> Ref { return &q.max_jobs; },
        "Jobs that run at once, with those below it; 0: no bound.", 0, kBillion),
    number<QosLine>(
        "max_jobs_per_user", [](QosLine& q) -> Ref { return &q.max_jobs_per_user; },
        "The same as max_jobs, of each user.", 0, kBillion),
    of<QosLine>(
        Kind::kBool, "preempt_children", [](QosLine& q) -> Ref { return &q.preempt_children; },
        "Jobs of this QOS itself may take from its descendants."),
    of<QosLine>(
        Kind::kName, "order", [](QosLine& q) -> Ref { return &q.order; },
        "Which of its jobs is next; the partition's if not given. See policies.md."),
    {{"order_weights", Kind::kWeights, kLive, "Weights of that order.", -kBillion, kBillion},
     [](QosLine& q) -> Ref { return &q.order_weights; }},
};

const Key<ReservationLine> kReservationLines[] = {
    of<ReservationLine>(
        Kind::kName, "name", [](ReservationLine& r) -> Ref { return &r.name; }, "Its name."),
    of<ReservationLine>(
        Kind::kHosts, "nodes", [](ReservationLine& r) -> Ref { return &r.nodes; },
        "Whole nodes that are kept; or ALL."),
    text<ReservationLine>(
        "start", [](ReservationLine& r) -> Ref { return &r.start; }, "When it begins; 0s if not given."),
    text<ReservationLine>(
        "end", [](ReservationLine& r) -> Ref { return &r.end; }, "When it ends."),
    text<ReservationLine>(
        "duration", [](ReservationLine& r) -> Ref { return &r.duration; }, "How long it lasts, instead of `end`."),
    text<ReservationLine>(
        "every", [](ReservationLine& r) -> Ref { return &r.every; },
        "It begins anew each time so long after its last beginning; once if not given."),
    of<ReservationLine>(
        Kind::kNames, "users", [](ReservationLine& r) -> Ref { return &r.users; }, "Who may run in it."),
    of<ReservationLine>(
        Kind::kBool, "maintenance", [](ReservationLine& r) -> Ref { return &r.maintenance; }, "Nobody runs in it."),
};

const Key<AskLine> kAskLines[] = {
    number<AskLine>(
        "tasks", [](AskLine& a) -> Ref { return &a.tasks; }, "Tasks; 1 if not given, with `nodes` one on each.", 1,
        1'000'000),
    number<AskLine>(
        "nodes", [](AskLine& a) -> Ref { return &a.nodes; },
        "Exactly so many nodes; as few as hold the tasks if not given.", 1, 1'000'000),
    number<AskLine>(
        "tasks_per_node", [](AskLine& a) -> Ref { return &a.tasks_per_node; },
        "At most so many tasks on a node; without `tasks` exactly.", 1, 1'000'000),
    number<AskLine>(
        "gpus_per_task", [](AskLine& a) -> Ref { return &a.gpus_per_task; }, "GPUs of each task.", 0, 1024),
    number<AskLine>(
        "gpus_per_node", [](AskLine& a) -> Ref { return &a.gpus_per_node; }, "Or GPUs on each node.", 0, 1024),
    number<AskLine>(
        "gpus", [](AskLine& a) -> Ref { return &a.gpus; }, "Or GPUs of the whole job.", 0, 1'000'000),
    number<AskLine>(
        "gpu_milli", [](AskLine& a) -> Ref { return &a.gpu_milli; },
        "Thousandths of the one GPU of a job with one task, which others may share.", 1, 1000),
    of<AskLine>(
        Kind::kName, "gpu_type", [](AskLine& a) -> Ref { return &a.gpu_type; }, "Type of the GPUs; any if not given."),
    number<AskLine>(
        "cpus_per_task", [](AskLine& a) -> Ref { return &a.cpus_per_task; },
        "Hardware threads of a task, given as whole cores; 0 is allowed.", 0, 65'536),
    number<AskLine>(
        "cpus_per_gpu", [](AskLine& a) -> Ref { return &a.cpus_per_gpu; },
        "Hardware threads for each GPU; the larger of both counts.", 0, 65'536),
    memory<AskLine>(
        "mem_per_task", [](AskLine& a) -> Ref { return &a.mem_per_task_mb; }, "Memory of each task."),
    memory<AskLine>(
        "mem_per_cpu", [](AskLine& a) -> Ref { return &a.mem_per_cpu_mb; }, "Or for each CPU given."),
    memory<AskLine>(
        "mem_per_gpu", [](AskLine& a) -> Ref { return &a.mem_per_gpu_mb; }, "Or for each GPU."),
    memory<AskLine>(
        "mem_per_node", [](AskLine& a) -> Ref { return &a.mem_per_node_mb; }, "Or on each node."),
    text<AskLine>(
        "constraint", [](AskLine& a) -> Ref { return &a.constraint; },
        "Features that the nodes must have, such as ib&nvlink."),
    of<AskLine>(
        Kind::kHosts, "nodelist", [](AskLine& a) -> Ref { return &a.nodelist; }, "It must have these nodes."),
    of<AskLine>(
        Kind::kHosts, "exclude", [](AskLine& a) -> Ref { return &a.exclude; }, "It must not have these nodes."),
    of<AskLine>(
        Kind::kNames, "partition", [](AskLine& a) -> Ref { return &a.partitions; },
        "One or several, in order of preference. If not given: the one with `default_for`, with `default`, or "
        "the first of the file."),
    of<AskLine>(
        Kind::kBool, "exclusive", [](AskLine& a) -> Ref { return &a.exclusive; }, "Whole nodes."),
    text<AskLine>(
        "locality", [](AskLine& a) -> Ref { return &a.locality; },
        "LEVEL[@WAIT][,LEVEL[@WAIT]...]: how close together, and how long to hold out for it. Levels: gpu, "
        "nvlink, pcie, numa, node, leaf, block, any."),
    text<AskLine>(
        "switches", [](AskLine& a) -> Ref { return &a.switches; },
        "N[@WAIT]: at most N leaf switches, until it has waited so long."),
    number<AskLine>(
        "segment", [](AskLine& a) -> Ref { return &a.segment; },
        "Nodes in groups of so many, each group within one block.", 1, 1'000'000),
    choice<AskLine>(
        "fit", [](AskLine& a) -> Ref { return &a.fit; }, "Instead of the partition's and the policy's.", kFits),
};

const Key<JobLine> kJobLines[] = {
    of<JobLine>(
        Kind::kHosts, "name", [](JobLine& j) -> Ref { return &j.names; },
        "Its name, or a list as of hosts (a[0-7]) of jobs that share this line."),
    of<JobLine>(
        Kind::kName, "qos", [](JobLine& j) -> Ref { return &j.qos; }, "Its QOS; the root if not given."),
    of<JobLine>(
        Kind::kName, "user", [](JobLine& j) -> Ref { return &j.user; },
        "Whose it is, for `reservations`, limits of each user and orders that look at users."),
    choice<JobLine>(
        "state", [](JobLine& j) -> Ref { return &j.state; }, "At the start; pending if not given.", "pending|running"),
    of<JobLine>(
        Kind::kHosts, "at", [](JobLine& j) -> Ref { return &j.at; }, "Where a running job is: a node for each task."),
    text<JobLine>(
        "started", [](JobLine& j) -> Ref { return &j.started; },
        "Since when it runs, such as -2h; just before the start if not given."),
    text<JobLine>(
        "submit", [](JobLine& j) -> Ref { return &j.submit; },
        "When it arrives, such as 10m, or arrived, such as -5m; 0s if not given."),
    text<JobLine>(
        "submitted", [](JobLine& j) -> Ref { return &j.submitted; }, "The same key."),
    text<JobLine>(
        "run_time", [](JobLine& j) -> Ref { return &j.run_time; },
        "When it ends by itself, which the scheduler does not know; never if not given."),
    limit<JobLine>(
        "time_limit", [](JobLine& j) -> Ref { return &j.time_limit; }, "When it is ended, which the scheduler knows."),
    limit<JobLine>(
        "time_min", [](JobLine& j) -> Ref { return &j.time_min; },
        "So far may the limit be cut in order to start sooner."),
    text<JobLine>(
        "told_time", [](JobLine& j) -> Ref { return &j.told_time; },
        "How long it tells orders by durations that it runs, which need not be true; not given: they know the limit."),
    text<JobLine>(
        "deadline", [](JobLine& j) -> Ref { return &j.deadline; },
        "By when it must have ended; once it cannot, it is ended."),
    number<JobLine>(
        "priority", [](JobLine& j) -> Ref { return &j.priority; },
        "Higher first, before anything else; 50 if not given.", -kBillion, kBillion),
    number<JobLine>(
        "nice", [](JobLine& j) -> Ref { return &j.nice; }, "Lowers what the order computes.", -1'000'000, 1'000'000),
    of<JobLine>(
        Kind::kBool, "preemptible", [](JobLine& j) -> Ref { return &j.preemptible; },
        "It may be preempted for others; true if not given."),
    choice<JobLine>(
        "on_preempt", [](JobLine& j) -> Ref { return &j.on_preempt; },
        "What becomes of it when it is preempted; requeue if not given. See below.",
        "requeue|checkpoint|suspend|cancel"),
    text<JobLine>(
        "dependency", [](JobLine& j) -> Ref { return &j.dependency; },
        "Waits for other jobs, by their names: afterok:prep,after:b+10. See below."),
    number<JobLine>(
        "throttle", [](JobLine& j) -> Ref { return &j.throttle; },
        "Of the jobs that share this line so many may run at once.", 1, 1'000'000),
    number<JobLine>(
        "min_tasks", [](JobLine& j) -> Ref { return &j.min_tasks; }, "Smallest size of an elastic gang.", 1, 1'000'000),
    number<JobLine>(
        "scaling", [](JobLine& j) -> Ref { return &j.scaling; },
        "Of an elastic gang: with k times the tasks it is known to be k^(scaling / 100) times as fast; 100 if not "
        "given.",
        0, 100),
    {{"stages", Kind::kWeights, kLive,
      "How long each part of an iteration takes by itself, such as {storage: 2, cpu: 1, gpu: 6, network: 1}, for rate "
      "models that look at it.",
      0, kBillion},
     [](JobLine& j) -> Ref { return &j.stages; }},
    of<JobLine>(
        Kind::kName, "reservation", [](JobLine& j) -> Ref { return &j.reservation; },
        "It runs inside this reservation."),
};

const Key<ExpectLine> kExpectLines[] = {
    choice<ExpectLine>(
        "state", [](ExpectLine& e) -> Ref { return &e.state; }, "At the end.", "running|pending|suspended|ended"),
    of<ExpectLine>(
        Kind::kHosts, "at", [](ExpectLine& e) -> Ref { return &e.at; },
        "A node for each task, in any order; of an ended job: where it ran last."),
    number<ExpectLine>(
        "nodes", [](ExpectLine& e) -> Ref { return &e.nodes; }, "How many nodes.", 0, 1'000'000),
    number<ExpectLine>(
        "tasks", [](ExpectLine& e) -> Ref { return &e.tasks; }, "How many tasks.", 0, 1'000'000),
    text<ExpectLine>(
        "started_at", [](ExpectLine& e) -> Ref { return &e.started_at; }, "Start of its latest run."),
    text<ExpectLine>(
        "ended_at", [](ExpectLine& e) -> Ref { return &e.ended_at; }, "When it ended."),
    of<ExpectLine>(
        Kind::kName, "partition", [](ExpectLine& e) -> Ref { return &e.partition; }, "Where it runs or ran."),
    of<ExpectLine>(
        Kind::kBool, "moved", [](ExpectLine& e) -> Ref { return &e.moved; },
        "It runs, and at least one task is on another node than at the start."),
    number<ExpectLine>(
        "preemptions", [](ExpectLine& e) -> Ref { return &e.preemptions; },
        "How often it was preempted; moves are not counted.", 0, kBillion),
};

// What a simulation has no use for: who may submit, leases.
constexpr std::string_view kNotSimulated[] = {"allow_users", "allow_groups", "allow_qos",
                                              "deny_users",  "lease",        "grace"};

// Times are texts in the table, since they have signs; read_offset() reads them.
constexpr std::string_view kTimes[] = {"usage_half_life", "grace",    "patience",  "reclaim_delay_max",
                                       "min_runtime",     "max_wall", "start",     "end",
                                       "duration",        "every",    "started",   "submit",
                                       "submitted",       "run_time", "told_time", "deadline",
                                       "started_at",      "ended_at", "quantum"};

std::string value_text(const KeyInfo& key) {
  const bool is_time = std::find(std::begin(kTimes), std::end(kTimes), key.name) != std::end(kTimes);
  return is_time ? "time" : kind_text(key);
}

std::vector<std::string> names_of(std::span<const Bound> keys, std::span<const std::string_view> others) {
  std::vector<std::string> names;
  for (const Bound& key : keys) names.emplace_back(key.info->name);
  names.insert(names.end(), others.begin(), others.end());
  return names;
}

}  // namespace

std::span<const Key<NodeLine>> node_line_keys() { return kNodeLines; }
std::span<const Key<PolicyLine>> policy_line_keys() { return kPolicyLines; }
std::span<const Key<QosLine>> qos_line_keys() { return kQosLines; }
std::span<const Key<ReservationLine>> reservation_line_keys() { return kReservationLines; }
std::span<const Key<AskLine>> ask_line_keys() { return kAskLines; }
std::span<const Key<JobLine>> job_line_keys() { return kJobLines; }
std::span<const Key<ExpectLine>> expect_line_keys() { return kExpectLines; }

std::vector<const Key<PartitionEntry>*> simulated_partition_keys() {
  std::vector<const Key<PartitionEntry>*> keys;
  for (const Key<PartitionEntry>& key : partition_keys())
    if (std::find(std::begin(kNotSimulated), std::end(kNotSimulated), key.info.name) == std::end(kNotSimulated))
      keys.push_back(&key);
  return keys;
}

std::vector<std::string> scenario_reference() {
  std::vector<std::string> rows;
  const auto add = [&rows](std::string_view where, const auto& keys) {
    for (const auto& key : keys)
      rows.push_back(fmt::format("| `{}{}` | {} | {} |", where, key.info.name, value_text(key.info), key.info.doc));
  };
  add("policy.", policy_line_keys());
  add("nodes[].", node_line_keys());
  add("qos[].", qos_line_keys());
  add("reservations[].", reservation_line_keys());
  add("jobs[].", job_line_keys());
  add("jobs[].", ask_line_keys());
  add("expect.JOB.", expect_line_keys());
  return rows;
}

bool read_bound(std::span<const Bound> keys, std::span<const std::string_view> others, const Value& map,
                std::string_view what, Problems& problems) {
  if (map.kind != Value::Kind::kMap) {
    problems.error(map, fmt::format("{} is a map of keys and values", what), "write {key: value, ...}");
    return false;
  }
  MapKeys seen;
  for (size_t i = 0; i + 1 < map.items.size(); i += 2) {
    const Value& name = map.items[i];
    if (!seen.is_new(name, problems)) continue;
    if (std::find(others.begin(), others.end(), name.text) != others.end()) continue;
    const auto found =
        std::find_if(keys.begin(), keys.end(), [&name](const Bound& key) { return key.info->name == name.text; });
    if (found != keys.end())
      read_value(*found->info, found->to, map.items[i + 1], problems);
    else
      tell_unknown(name, names_of(keys, others), problems);
  }
  return true;
}

}  // namespace gw::config
