// The prepared statements that carry out the operations of rows.h.
// Invariant: each operation is exact whatever bytes its names hold; none of them begins or ends a transaction.
#pragma once

#include <optional>

#include "base/result.h"
#include "store/rows.h"
#include "store/sqlite_db.h"

namespace gw::store {

class WriteOps {
 public:
  /// Prepares all statements. `db` must outlive the result.
  static base::Result<WriteOps> prepare(Database& db);
  /// Carries out one operation in the open transaction. Errors: as Database::error; kInternal where a status is put for
  /// a job that is not there.
  base::Status apply(const Op& op);

 private:
  /// In its array, where the row says one.
  base::Status put_place(const JobRow& row);
  explicit WriteOps(Database& db) : db_(&db) {}
  base::Status run(Statement& s);
  base::Status put(Statement& s, const std::string& name, const std::string& bytes);
  base::Status on(const PutJob& op);
  base::Status on(const PutJobStatus& op);
  base::Status on(const EndJob& op);
  base::Status on(const AmendEnded& op);
  base::Status on(const DropEnded& op);
  base::Status on(const PutArray& op);
  base::Status on(const DropArray& op);
  base::Status on(const PutBlob& op);
  base::Status on(const ReleaseBlob& op);
  base::Status on(const DropBlob& op);
  base::Status on(const PutNode& op);
  base::Status on(const PutPartition& op);
  base::Status on(const PutReservation& op);
  base::Status on(const DropReservation& op);
  base::Status on(const PutToken& op);
  base::Status on(const DropToken& op);
  base::Status on(const PutStep& op);
  base::Status on(const DropStep& op);
  base::Status on(const PutRunNode& op);
  base::Status on(const DropRunNode& op);
  base::Status on(const DropRun& op);
  base::Status on(const PutQos& op);
  base::Status on(const DropQos& op);
  base::Status on(const PutQuotaUser& op);
  base::Status on(const DropQuotaUser& op);
  base::Status on(const PutReply& op);
  base::Status on(const DropReply& op);
  base::Status on(const DropReplies& op);
  base::Status on(const PutUsage& op);
  base::Status on(const DropUsage& op);
  base::Status on(const PutPastRun& op);
  base::Status on(const PutMeta& op);
  base::Status on(const Event& op);
  base::Status on(const Audit& op);

  struct JobStatements {
    Statement put, put_status, insert_ended, amend_ended, drop, drop_ended;
  };
  struct BlobStatements {
    Statement put, put_facts, release, drop, drop_facts;
  };
  struct ClusterStatements {
    Statement put_node, put_partition, put_reservation, drop_reservation, put_token, drop_token;
  };
  struct QuotaStatements {
    Statement put_qos, drop_qos, put_user, drop_user;
  };
  struct StepStatements {
    Statement put, drop;
  };
  struct RunStatements {
    Statement put_node, drop_node, drop, put_past;
  };
  struct ArrayStatements {
    Statement put, put_ranges, drop, put_job;
  };
  struct ReplyStatements {
    Statement put, drop, drop_before;
  };
  struct UsageStatements {
    Statement put, drop;
  };

  Database* db_;
  JobStatements jobs_;
  BlobStatements blobs_;
  ClusterStatements cluster_;
  QuotaStatements quotas_;
  StepStatements steps_;
  RunStatements runs_;
  ArrayStatements arrays_;
  ReplyStatements replies_;
  UsageStatements usage_;
  Statement put_meta_, put_event_, put_audit_;
};

/// The columns of a job row in the order that read_job() expects. A macro, so that every statement is one literal.
#define GW_JOB_COLUMNS                                                                                                \
  "id,state,uid,user,name,partition,account,qos,nodes,node_count,cpus,gpus,mem_mb,submitted,started,ended,exit_code," \
  "exit_signo,status,spec"
JobRow read_job(const Statement& s, bool with_spec = true);

/// Who did it, as the column `uid` of events has it. 0 is nobody but the controller; rows of earlier versions say so of
/// root, too, whose number is therefore another one.
constexpr uint32_t kRootInEvents = UINT32_MAX;
constexpr uint32_t column_of_user(std::optional<uint32_t> uid) { return uid == 0U ? kRootInEvents : uid.value_or(0); }
constexpr std::optional<uint32_t> user_of_column(uint32_t column) {
  if (column == 0) return std::nullopt;
  return column == kRootInEvents ? 0 : column;
}

}  // namespace gw::store
