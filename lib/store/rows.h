// The rows that the controller keeps and the operations that change them: plain data, no SQL.
// Invariant: a Batch is applied whole in one transaction, in order, or not at all.
#pragma once

#include <cstdint>
#include <string>
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
/// A script or an environment; stored once by its hash.
struct PutBlob {
  std::string hash;
  std::string bytes;
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
struct PutMeta {
  std::string key;
  std::string value;
};
/// One line of history. `job` zero or `node` empty where it is not about one.
struct Event {
  base::Time at;
  base::JobId job;
  std::string node;
  std::string kind;
  std::string text;
  uint32_t uid = 0;
};

using Op = std::variant<PutJob, PutJobStatus, EndJob, PutBlob, PutNode, PutPartition, PutReservation, DropReservation,
                        PutQos, DropQos, PutQuotaUser, DropQuotaUser, PutReply, DropReplies, PutUsage, DropUsage,
                        PutStep, DropStep, PutMeta, Event>;
using Batch = std::vector<Op>;

struct NamedBytes {
  std::string name;
  std::string bytes;
};
struct EventRow {
  uint64_t seq = 0;
  Event event;
};

/// Everything that a controller needs to go on after a restart.
struct Snapshot {
  std::vector<JobRow> jobs;            ///< All that have not ended, ascending by id.
  std::vector<JobRow> recently_ended;  ///< Ended after the given time.
  std::vector<NamedBytes> nodes, partitions, meta;
  std::vector<PutReply> replies;
  std::vector<NamedBytes> reservations;
  std::vector<PutUsage> usage;
  std::vector<NamedBytes> qos, quota_users;
  std::vector<PutStep> steps;
};

}  // namespace gw::store
