// The rows that the controller keeps and the operations that change them: plain data, no SQL.
// Invariant: a Batch is applied whole in one transaction, in order, or not at all.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/time.h"

namespace gw::store {

/// A job with the columns that accounting asks by. `spec` and `status` are serialised wire messages.
struct JobRow {
  base::JobId id;
  uint32_t state = 0;  ///< model::JobState
  uint32_t uid = 0;
  std::string user, name, partition, account, qos;
  std::string nodes;  ///< Host list; empty while pending.
  uint32_t node_count = 0, cpus = 0, gpus = 0;
  uint64_t mem_mb = 0;
  base::Time submitted, started, ended;
  int32_t exit_code = 0, exit_signo = 0;
  std::string spec;
  std::string status;
  base::JobId array;  ///< With a spec: the array that it is part of, and
  int64_t task = -1;  ///< as which task; -1: it stands for several.
};

/// Inserts or replaces a job that has not ended.
struct PutJob {
  JobRow row;
};
/// Rewrites everything but `spec` (which stays as stored): the usual change of state.
struct PutJobStatus {
  JobRow row;
};
/// Moves a job to the table of ended jobs.
struct EndJob {
  JobRow row;
};
/// An ended job says something else of itself: nothing that the columns hold. Of one that has left the database
/// nothing.
struct AmendEnded {
  base::JobId job;
  std::string spec, status;
};
/// An ended job waits again: its record goes from the table of ended jobs, and PutJob follows.
struct DropEnded {
  base::JobId job;
};
/// A script or an environment; stored once by its hash. Whatever was said of it before, it is used now.
struct PutBlob {
  std::string hash;
  std::string bytes;
  bool is_environment = false;
};
/// No job in memory uses this script any more.
struct ReleaseBlob {
  std::string hash;
  base::Time at;
};
struct DropBlob {
  std::string hash;
};
struct PutNode {
  std::string name;
  std::string bytes;
};
struct PutPartition {
  std::string name;
  std::string bytes;
};
struct PutReservation {
  std::string name;
  std::string bytes;
};
struct DropReservation {
  std::string name;
};
struct PutToken {
  std::string name;
  std::string bytes;
};
struct DropToken {
  std::string name;
};
/// What is left of an array and what became of the rest.
struct PutArray {
  base::JobId job;
  std::string bytes;
  std::optional<std::string> ranges = {};  ///< Of its tasks, which are long and seldom change; absent: as stored.
};
struct DropArray {
  base::JobId job;
};
struct PutQos {
  std::string name;
  std::string bytes;
};
struct DropQos {
  std::string name;
};
struct PutQuotaUser {
  std::string name;
  std::string bytes;
};
struct DropQuotaUser {
  std::string name;
};
/// The first answer to a request that changed something: a retry gets the same.
struct PutReply {
  uint32_t uid = 0;
  std::string client_id;
  std::string reply;
  base::Time at;
};
struct DropReply {
  uint32_t uid = 0;
  std::string client_id;
};
struct DropReplies {
  base::Time before;
};
/// Use of the cluster by a user ("user", the uid as text) or a QOS ("qos", its name), as it counted at `at`.
struct PutUsage {
  std::string kind;
  std::string name;
  int64_t amount = 0;  ///< Millionths of a GPU-second.
  base::Time at;
};
struct DropUsage {
  std::string kind;
  std::string name;
};
/// A step of a job that runs.
struct PutStep {
  base::JobId job;
  uint32_t step = 0;
  std::string bytes;
};
struct DropStep {
  base::JobId job;
  uint32_t step = 0;
};
/// What a run has on one of its nodes, and what that node has said: all that changes node by node. `step` is 0 for the
/// job's own run, else the number of the step + 1.
struct PutRunNode {
  base::JobId job;
  uint32_t step = 0;
  std::string node;
  uint32_t attempt = 0;  ///< Of the job: a row of another run says nothing.
  std::string bytes;     ///< wire::RunNode
};
struct DropRunNode {
  base::JobId job;
  uint32_t step = 0;
  std::string node;
};
/// On all nodes.
struct DropRun {
  base::JobId job;
  uint32_t step = 0;
};
/// A run of a job that did not end it, or a step, when it is over: wire::PastRun, for accounting.
struct PutPastRun {
  base::JobId job;
  uint32_t attempt = 0;
  uint32_t step = 0;  ///< 0: the job's own run; else the number of the step + 1.
  std::string bytes;
};
struct PutMeta {
  std::string key;
  std::string value;
};
/// The tables whose rows may be held aside.
enum class RowKind : uint8_t {
  kJob,
  kEndedJob,
  kRun,
  kStep,
  kNode,
  kPartition,
  kReservation,
  kQos,
  kUser,
  kUsage,
  kReply,
  kSetting,
  kScript,
  kArray,
  kToken,
};
/// What people call a row of this kind: "job".
constexpr std::string_view word_of(RowKind kind) {
  constexpr std::string_view kWords[] = {"job",       "ended_job",   "run",    "step",  "node",
                                         "partition", "reservation", "qos",    "user",  "usage",
                                         "reply",     "setting",     "script", "array", "token"};
  return kWords[static_cast<size_t>(kind)];
}
/// A row that cannot be read, out of its table. Every value of it is kept as it was, beside this.
struct HeldRow {
  std::string kind;    ///< word_of() it.
  std::string name;    ///< Among those of its kind: "7" is a job, "7.0" a step, "7.0/n1" what a step has on a node.
  std::string reason;  ///< Why it cannot be read.
  base::Time since;    ///< Zero: the store has just found it, and nobody was told.
  std::string nodes;   ///< Of a job, as a host list: where something of it may run.
};
/// One value of the key of a table.
using KeyValue = std::variant<int64_t, std::string>;
/// Takes the row with this key out of its table and keeps it aside. Nothing happens if there is none.
struct HoldAside {
  RowKind from = RowKind::kJob;
  std::vector<KeyValue> key;  ///< In the order of the table's primary key.
  HeldRow row;
};
/// Says something else of a row that is held aside: its reason, since when, or the nodes.
struct PutHeld {
  HeldRow row;
};
/// With all that it held.
struct DropHeld {
  std::string kind;
  std::string name;
};
/// One line of history. `job` zero or `node` empty where it is not about one.
struct Event {
  base::Time at;
  base::JobId job;
  std::string node;
  std::string kind;
  std::string text;
  std::optional<uint32_t> uid = {};  ///< Who did it; none: the controller itself.
};
/// Somebody did something to what is not his own, or was refused.
struct Audit {
  base::Time at;
  std::optional<uint32_t> uid = {};  ///< Who; none: whoever may signal the controller, or start it.
  std::string kind;
  std::string object;  ///< "job 7", "node n1"; may be empty.
  std::string text;
  bool is_refusal = false;
};

using Op = std::variant<PutJob, PutJobStatus, EndJob, AmendEnded, DropEnded, PutBlob, ReleaseBlob, DropBlob, PutNode,
                        PutPartition, PutReservation, DropReservation, PutToken, DropToken, PutQos, DropQos,
                        PutQuotaUser, DropQuotaUser, PutReply, DropReply, DropReplies, PutUsage, DropUsage, PutStep,
                        DropStep, PutRunNode, DropRunNode, DropRun, PutPastRun, PutArray, DropArray, PutMeta, HoldAside,
                        PutHeld, DropHeld, Event, Audit>;
using Batch = std::vector<Op>;

struct NamedBytes {
  std::string name;
  std::string bytes;
};
/// What is known of a script or an environment beside its bytes.
struct BlobRow {
  std::string hash;
  uint64_t bytes = 0;
  bool is_environment = false;
  base::Time released;  ///< When the last job in memory that used it went; 0: not so far.
};
struct EventRow {
  uint64_t seq = 0;
  Event event;
};
/// Which events are read: those of a job, of a node, of what concerns no job, or all; of them the newest.
struct EventFilter {
  base::JobId job = {};    ///< Zero: of any.
  std::string node = {};   ///< Empty: of any. Not beside a job.
  bool of_no_job = false;  ///< Beside neither.
  base::Time since = {};   ///< Both included.
  base::Time until = base::Time::never();
  size_t most = 0;
  size_t most_text = SIZE_MAX;  ///< Bytes of each text; what is longer is cut.
};
struct AuditRow {
  uint64_t seq = 0;
  Audit audit;
};
struct AuditFilter {
  std::optional<uint32_t> uid = {};  ///< None: of anybody.
  base::Time since = {};             ///< Both included.
  base::Time until = base::Time::never();
  size_t most = 0;  ///< The newest.
};

/// Everything that a controller needs to continue after a restart.
struct Snapshot {
  std::vector<JobRow> jobs;            ///< All that have not ended, ascending by id.
  std::vector<JobRow> recently_ended;  ///< Ended after the given time.
  std::vector<NamedBytes> nodes, partitions, meta;
  std::vector<PutReply> replies;
  std::vector<NamedBytes> reservations;
  std::vector<PutUsage> usage;
  std::vector<NamedBytes> qos, quota_users;
  std::vector<PutStep> steps;
  std::vector<PutRunNode> run_nodes;  ///< By job and step.
  std::vector<BlobRow> blobs;
  std::vector<PutArray> arrays;
  std::vector<HeldRow> held;  ///< Those held aside before, and those that this reading found, by kind and name.
  std::vector<NamedBytes> tokens;
  base::JobId last_job;  ///< The highest that any table names.
};

}  // namespace gw::store
