// Operations as SQL. See write_ops.h.
#include "store/write_ops.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include "store/held_rows.h"

namespace gw::store {
namespace {

constexpr int kStatusIndex = 19, kSpecIndex = 20;  // parameters of a job row: the order of kJobColumns, from ?1
// All but the spec.
void bind_job(Statement& s, const JobRow& r) {
  s.bind(r.id.value, r.state, r.uid, std::string_view(r.user), std::string_view(r.name), std::string_view(r.partition),
         std::string_view(r.account), std::string_view(r.qos), std::string_view(r.nodes), r.node_count, r.cpus, r.gpus,
         r.mem_mb, r.submitted.us, r.started.us, r.ended.us, r.exit_code, r.exit_signo);
  s.bind_blob(kStatusIndex, r.status);
}

constexpr char kPutJobSql[] = "INSERT OR REPLACE INTO jobs(" GW_JOB_COLUMNS
                              ") VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16,?17,?18,?19,?20)";

constexpr char kPutStatusSql[] =
    "UPDATE jobs SET state=?2,uid=?3,user=?4,name=?5,partition=?6,account=?7,qos=?8,nodes=?9,node_count=?10,cpus=?11,"
    "gpus=?12,mem_mb=?13,submitted=?14,started=?15,ended=?16,exit_code=?17,exit_signo=?18,status=?19 WHERE id=?1";

// An empty spec means: as stored.
constexpr char kInsertEndedSql[] =
    "INSERT OR REPLACE INTO ended_jobs(" GW_JOB_COLUMNS
    ") VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16,?17,?18,?19,"
    "CASE WHEN length(?20)>0 THEN ?20 ELSE ifnull((SELECT spec FROM jobs WHERE id=?1),x'') END)";

constexpr char kPutNodeSql[] = "INSERT INTO nodes(name,bytes) VALUES(?1,?2) ON CONFLICT(name) DO UPDATE SET bytes=?2";
constexpr char kPutPartitionSql[] =
    "INSERT INTO partitions(name,bytes) VALUES(?1,?2) ON CONFLICT(name) DO UPDATE SET bytes=?2";
constexpr char kPutReservationSql[] =
    "INSERT INTO reservations(name,bytes) VALUES(?1,?2) ON CONFLICT(name) DO UPDATE SET bytes=?2";
constexpr char kPutQosSql[] = "INSERT INTO qos(name,bytes) VALUES(?1,?2) ON CONFLICT(name) DO UPDATE SET bytes=?2";
constexpr char kPutQuotaUserSql[] =
    "INSERT INTO quota_users(name,bytes) VALUES(?1,?2) ON CONFLICT(name) DO UPDATE SET bytes=?2";

}  // namespace

base::Result<WriteOps> WriteOps::prepare(Database& db) {
  WriteOps ops(db);
  const std::pair<Statement*, const char*> all[] = {
      {&ops.put_job_, kPutJobSql},
      {&ops.put_status_, kPutStatusSql},
      {&ops.insert_ended_, kInsertEndedSql},
      {&ops.delete_job_, "DELETE FROM jobs WHERE id=?1"},
      {&ops.put_blob_, "INSERT OR IGNORE INTO blobs(hash,bytes) VALUES(?1,?2)"},
      {&ops.put_blob_facts_,
       "INSERT INTO blob_facts(hash,bytes,environment,released) VALUES(?1,?2,?3,0) ON CONFLICT(hash) DO UPDATE SET "
       "released=0"},
      {&ops.release_blob_, "UPDATE blob_facts SET released=?2 WHERE hash=?1"},
      {&ops.drop_blob_, "DELETE FROM blobs WHERE hash=?1"},
      {&ops.drop_blob_facts_, "DELETE FROM blob_facts WHERE hash=?1"},
      {&ops.put_node_, kPutNodeSql},
      {&ops.put_partition_, kPutPartitionSql},
      {&ops.put_reservation_, kPutReservationSql},
      {&ops.drop_reservation_, "DELETE FROM reservations WHERE name=?1"},
      {&ops.put_qos_, kPutQosSql},
      {&ops.drop_qos_, "DELETE FROM qos WHERE name=?1"},
      {&ops.put_quota_user_, kPutQuotaUserSql},
      {&ops.drop_quota_user_, "DELETE FROM quota_users WHERE name=?1"},
      {&ops.put_reply_, "INSERT OR IGNORE INTO replies(uid,client_id,reply,at) VALUES(?1,?2,?3,?4)"},
      {&ops.drop_reply_, "DELETE FROM replies WHERE uid=?1 AND client_id=?2"},
      {&ops.drop_replies_, "DELETE FROM replies WHERE at<?1"},
      {&ops.put_usage_,
       "INSERT INTO usage(kind,name,amount,at) VALUES(?1,?2,?3,?4) ON CONFLICT(kind,name) DO UPDATE SET "
       "amount=?3,at=?4"},
      {&ops.drop_usage_, "DELETE FROM usage WHERE kind=?1 AND name=?2"},
      {&ops.put_step_,
       "INSERT INTO steps(job,step,bytes) VALUES(?1,?2,?3) ON CONFLICT(job,step) DO UPDATE SET bytes=?3"},
      {&ops.drop_step_, "DELETE FROM steps WHERE job=?1 AND step=?2"},
      {&ops.put_run_node_,
       "INSERT INTO run_nodes(job,step,node,attempt,bytes) VALUES(?1,?2,?3,?4,?5) ON CONFLICT(job,step,node) DO UPDATE "
       "SET attempt=?4,bytes=?5"},
      {&ops.drop_run_node_, "DELETE FROM run_nodes WHERE job=?1 AND step=?2 AND node=?3"},
      {&ops.drop_run_, "DELETE FROM run_nodes WHERE job=?1 AND step=?2"},
      {&ops.put_meta_, "INSERT INTO meta(name,value) VALUES(?1,?2) ON CONFLICT(name) DO UPDATE SET value=?2"},
      {&ops.put_event_, "INSERT INTO events(at,job,node,kind,text,uid) VALUES(?1,?2,?3,?4,?5,?6)"},
  };
  for (const auto& [statement, sql] : all) {
    GW_TRY(prepared, db.prepare(sql));
    *statement = std::move(prepared);
  }
  return ops;
}

base::Status WriteOps::apply(const Op& op) {
  return std::visit([this](const auto& o) { return on(o); }, op);
}

base::Status WriteOps::run(Statement& s) {
  int code = s.run();
  if (code == SQLITE_DONE) return {};
  return tl::unexpected<base::Error>(db_->error(code));
}

base::Status WriteOps::put(Statement& s, const std::string& name, const std::string& bytes) {
  s.bind(std::string_view(name));
  s.bind_blob(2, bytes);
  return run(s);
}

base::Status WriteOps::drop(Statement& s, const std::string& name) {
  s.bind(std::string_view(name));
  return run(s);
}

base::Status WriteOps::on(const PutJob& op) {
  bind_job(put_job_, op.row);
  put_job_.bind_blob(kSpecIndex, op.row.spec);
  return run(put_job_);
}

base::Status WriteOps::on(const PutJobStatus& op) {
  bind_job(put_status_, op.row);
  GW_TRY_STATUS(run(put_status_));
  if (db_->changed() == 1) return {};
  return base::fail(base::ErrorCode::kInternal, fmt::format("status of job {}, which is not stored", op.row.id.value));
}

base::Status WriteOps::on(const EndJob& op) {
  bind_job(insert_ended_, op.row);
  insert_ended_.bind_blob(kSpecIndex, op.row.spec);
  GW_TRY_STATUS(run(insert_ended_));
  delete_job_.bind(op.row.id.value);
  return run(delete_job_);
}

base::Status WriteOps::on(const PutBlob& op) {
  GW_TRY_STATUS(put(put_blob_, op.hash, op.bytes));
  put_blob_facts_.bind(std::string_view(op.hash), static_cast<uint64_t>(op.bytes.size()), int32_t{op.is_environment});
  return run(put_blob_facts_);
}

base::Status WriteOps::on(const ReleaseBlob& op) {
  release_blob_.bind(std::string_view(op.hash), op.at.us);
  return run(release_blob_);
}

base::Status WriteOps::on(const DropBlob& op) {
  GW_TRY_STATUS(drop(drop_blob_, op.hash));
  return drop(drop_blob_facts_, op.hash);
}

base::Status WriteOps::on(const PutNode& op) { return put(put_node_, op.name, op.bytes); }
base::Status WriteOps::on(const PutPartition& op) { return put(put_partition_, op.name, op.bytes); }
base::Status WriteOps::on(const PutReservation& op) { return put(put_reservation_, op.name, op.bytes); }
base::Status WriteOps::on(const PutMeta& op) { return put(put_meta_, op.key, op.value); }

base::Status WriteOps::on(const PutQos& op) { return put(put_qos_, op.name, op.bytes); }
base::Status WriteOps::on(const PutQuotaUser& op) { return put(put_quota_user_, op.name, op.bytes); }
base::Status WriteOps::on(const DropReservation& op) { return drop(drop_reservation_, op.name); }
base::Status WriteOps::on(const DropQos& op) { return drop(drop_qos_, op.name); }
base::Status WriteOps::on(const DropQuotaUser& op) { return drop(drop_quota_user_, op.name); }

base::Status WriteOps::on(const PutStep& op) {
  put_step_.bind(op.job.value, op.step);
  put_step_.bind_blob(3, op.bytes);
  return run(put_step_);
}

base::Status WriteOps::on(const DropStep& op) {
  drop_step_.bind(op.job.value, op.step);
  return run(drop_step_);
}

base::Status WriteOps::on(const PutRunNode& op) {
  put_run_node_.bind(op.job.value, op.step, std::string_view(op.node), op.attempt);
  put_run_node_.bind_blob(5, op.bytes);
  return run(put_run_node_);
}

base::Status WriteOps::on(const DropRunNode& op) {
  drop_run_node_.bind(op.job.value, op.step, std::string_view(op.node));
  return run(drop_run_node_);
}

base::Status WriteOps::on(const DropRun& op) {
  drop_run_.bind(op.job.value, op.step);
  return run(drop_run_);
}

base::Status WriteOps::on(const PutReply& op) {
  put_reply_.bind(op.uid, std::string_view(op.client_id));
  put_reply_.bind_blob(3, op.reply);
  put_reply_.bind_one(4, op.at.us);
  return run(put_reply_);
}

base::Status WriteOps::on(const DropReply& op) {
  drop_reply_.bind(op.uid, std::string_view(op.client_id));
  return run(drop_reply_);
}

base::Status WriteOps::on(const DropReplies& op) {
  drop_replies_.bind(op.before.us);
  return run(drop_replies_);
}

base::Status WriteOps::on(const PutUsage& op) {
  put_usage_.bind(std::string_view(op.kind), std::string_view(op.name), op.amount, op.at.us);
  return run(put_usage_);
}

base::Status WriteOps::on(const DropUsage& op) {
  drop_usage_.bind(std::string_view(op.kind), std::string_view(op.name));
  return run(drop_usage_);
}

base::Status WriteOps::on(const HoldAside& op) { return hold_aside(*db_, op); }
base::Status WriteOps::on(const PutHeld& op) { return put_held(*db_, op.row); }
base::Status WriteOps::on(const DropHeld& op) { return drop_held(*db_, op); }

base::Status WriteOps::on(const Event& op) {
  put_event_.bind(op.at.us, op.job.value, std::string_view(op.node), std::string_view(op.kind),
                  std::string_view(op.text), op.uid);
  return run(put_event_);
}

JobRow read_job(const Statement& s) {
  JobRow r;
  auto u32 = [&s](int column) { return static_cast<uint32_t>(s.integer(column)); };
  r.id = base::JobId(u32(0));
  r.state = u32(1);
  r.uid = u32(2);
  std::string* const texts[] = {&r.user, &r.name, &r.partition, &r.account, &r.qos, &r.nodes};
  int column = 3;
  for (std::string* text : texts) *text = s.bytes(column++);
  r.node_count = u32(9);
  r.cpus = u32(10);
  r.gpus = u32(11);
  r.mem_mb = static_cast<uint64_t>(s.integer(12));
  r.submitted.us = s.integer(13);
  r.started.us = s.integer(14);
  r.ended.us = s.integer(15);
  r.exit_code = static_cast<int32_t>(s.integer(16));
  r.exit_signo = static_cast<int32_t>(s.integer(17));
  r.status = s.bytes(18);
  r.spec = s.bytes(19);
  return r;
}

}  // namespace gw::store
