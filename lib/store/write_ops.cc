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
constexpr char kPutTokenSql[] = "INSERT INTO tokens(name,bytes) VALUES(?1,?2) ON CONFLICT(name) DO UPDATE SET bytes=?2";
constexpr char kPutQosSql[] = "INSERT INTO qos(name,bytes) VALUES(?1,?2) ON CONFLICT(name) DO UPDATE SET bytes=?2";
constexpr char kPutQuotaUserSql[] =
    "INSERT INTO quota_users(name,bytes) VALUES(?1,?2) ON CONFLICT(name) DO UPDATE SET bytes=?2";

Statement& named(Statement& s, const std::string& name) {
  s.bind(std::string_view(name));
  return s;
}

}  // namespace

base::Result<WriteOps> WriteOps::prepare(Database& db) {
  WriteOps ops(db);
  const std::pair<Statement*, const char*> all[] = {
      {&ops.jobs_.put, kPutJobSql},
      {&ops.jobs_.put_status, kPutStatusSql},
      {&ops.jobs_.insert_ended, kInsertEndedSql},
      {&ops.jobs_.drop, "DELETE FROM jobs WHERE id=?1"},
      {&ops.jobs_.amend_ended, "UPDATE ended_jobs SET spec=?2,status=?3 WHERE id=?1"},
      {&ops.jobs_.drop_ended, "DELETE FROM ended_jobs WHERE id=?1"},
      {&ops.blobs_.put, "INSERT OR IGNORE INTO blobs(hash,bytes) VALUES(?1,?2)"},
      {&ops.blobs_.put_facts,
       "INSERT INTO blob_facts(hash,bytes,environment,released) VALUES(?1,?2,?3,0) ON CONFLICT(hash) DO UPDATE SET "
       "released=0"},
      {&ops.blobs_.release, "UPDATE blob_facts SET released=?2 WHERE hash=?1"},
      {&ops.blobs_.drop, "DELETE FROM blobs WHERE hash=?1"},
      {&ops.blobs_.drop_facts, "DELETE FROM blob_facts WHERE hash=?1"},
      {&ops.cluster_.put_node, kPutNodeSql},
      {&ops.cluster_.put_partition, kPutPartitionSql},
      {&ops.cluster_.put_reservation, kPutReservationSql},
      {&ops.cluster_.drop_reservation, "DELETE FROM reservations WHERE name=?1"},
      {&ops.cluster_.put_token, kPutTokenSql},
      {&ops.cluster_.drop_token, "DELETE FROM tokens WHERE name=?1"},
      {&ops.quotas_.put_qos, kPutQosSql},
      {&ops.quotas_.drop_qos, "DELETE FROM qos WHERE name=?1"},
      {&ops.quotas_.put_user, kPutQuotaUserSql},
      {&ops.quotas_.drop_user, "DELETE FROM quota_users WHERE name=?1"},
      {&ops.replies_.put, "INSERT OR IGNORE INTO replies(uid,client_id,reply,at) VALUES(?1,?2,?3,?4)"},
      {&ops.replies_.drop, "DELETE FROM replies WHERE uid=?1 AND client_id=?2"},
      {&ops.replies_.drop_before, "DELETE FROM replies WHERE at<?1"},
      {&ops.usage_.put,
       "INSERT INTO usage(kind,name,amount,at) VALUES(?1,?2,?3,?4) ON CONFLICT(kind,name) DO UPDATE SET "
       "amount=?3,at=?4"},
      {&ops.usage_.drop, "DELETE FROM usage WHERE kind=?1 AND name=?2"},
      {&ops.steps_.put,
       "INSERT INTO steps(job,step,bytes) VALUES(?1,?2,?3) ON CONFLICT(job,step) DO UPDATE SET bytes=?3"},
      {&ops.steps_.drop, "DELETE FROM steps WHERE job=?1 AND step=?2"},
      {&ops.runs_.put_node,
       "INSERT INTO run_nodes(job,step,node,attempt,bytes) VALUES(?1,?2,?3,?4,?5) ON CONFLICT(job,step,node) DO UPDATE "
       "SET attempt=?4,bytes=?5"},
      {&ops.runs_.drop_node, "DELETE FROM run_nodes WHERE job=?1 AND step=?2 AND node=?3"},
      {&ops.runs_.drop, "DELETE FROM run_nodes WHERE job=?1 AND step=?2"},
      {&ops.runs_.put_past, "INSERT OR REPLACE INTO past_runs(job,attempt,step,bytes) VALUES(?1,?2,?3,?4)"},
      {&ops.arrays_.put, "INSERT INTO arrays(job,bytes) VALUES(?1,?2) ON CONFLICT(job) DO UPDATE SET bytes=?2"},
      {&ops.arrays_.put_ranges, "UPDATE arrays SET ranges=?2 WHERE job=?1"},
      {&ops.arrays_.drop, "DELETE FROM arrays WHERE job=?1"},
      {&ops.arrays_.put_job, "INSERT OR REPLACE INTO array_jobs(id,array,task) VALUES(?1,?2,?3)"},
      {&ops.put_meta_, "INSERT INTO meta(name,value) VALUES(?1,?2) ON CONFLICT(name) DO UPDATE SET value=?2"},
      {&ops.put_audit_, "INSERT INTO audit(at,uid,kind,object,text,refused) VALUES(?1,?2,?3,?4,?5,?6)"},
      {&ops.put_event_, "INSERT INTO events(at,job,node,kind,text,uid) VALUES(?1,?2,?3,?4,?5,?6)"},
  };
  for (const auto& [statement, sql] : all) {
    GW_TRY(prepared, db.prepare(sql));
    *statement = std::move(prepared);
  }
  return ops;
}

base::Status WriteOps::apply(const Op& op) {
  const auto carry_out = [this](const auto& o) -> base::Status {
    using Kind = std::decay_t<decltype(o)>;
    if constexpr (std::is_same_v<Kind, HoldAside>)
      return hold_aside(*db_, o);
    else if constexpr (std::is_same_v<Kind, PutHeld>)
      return put_held(*db_, o.row);
    else if constexpr (std::is_same_v<Kind, DropHeld>)
      return drop_held(*db_, o);
    else
      return on(o);
  };
  return std::visit(carry_out, op);
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

base::Status WriteOps::on(const PutJob& op) {
  bind_job(jobs_.put, op.row);
  jobs_.put.bind_blob(kSpecIndex, op.row.spec);
  GW_TRY_STATUS(put_place(op.row));
  return run(jobs_.put);
}

base::Status WriteOps::put_place(const JobRow& row) {
  if (!row.array) return {};
  arrays_.put_job.bind(row.id.value, row.array.value, row.task);
  return run(arrays_.put_job);
}

base::Status WriteOps::on(const PutJobStatus& op) {
  bind_job(jobs_.put_status, op.row);
  GW_TRY_STATUS(run(jobs_.put_status));
  if (db_->changed() == 1) return {};
  return base::fail(base::ErrorCode::kInternal, fmt::format("status of job {}, which is not stored", op.row.id.value));
}

base::Status WriteOps::on(const EndJob& op) {
  bind_job(jobs_.insert_ended, op.row);
  jobs_.insert_ended.bind_blob(kSpecIndex, op.row.spec);
  GW_TRY_STATUS(run(jobs_.insert_ended));
  GW_TRY_STATUS(put_place(op.row));
  jobs_.drop.bind(op.row.id.value);
  return run(jobs_.drop);
}

base::Status WriteOps::on(const AmendEnded& op) {
  jobs_.amend_ended.bind(op.job.value);
  jobs_.amend_ended.bind_blob(2, op.spec);
  jobs_.amend_ended.bind_blob(3, op.status);
  return run(jobs_.amend_ended);
}

base::Status WriteOps::on(const DropEnded& op) {
  jobs_.drop_ended.bind(op.job.value);
  return run(jobs_.drop_ended);
}

base::Status WriteOps::on(const PutArray& op) {
  arrays_.put.bind(op.job.value);
  arrays_.put.bind_blob(2, op.bytes);
  GW_TRY_STATUS(run(arrays_.put));
  if (!op.ranges) return {};
  arrays_.put_ranges.bind(op.job.value);
  arrays_.put_ranges.bind_blob(2, *op.ranges);
  return run(arrays_.put_ranges);
}

base::Status WriteOps::on(const DropArray& op) {
  arrays_.drop.bind(op.job.value);
  return run(arrays_.drop);
}

base::Status WriteOps::on(const PutBlob& op) {
  GW_TRY_STATUS(put(blobs_.put, op.hash, op.bytes));
  blobs_.put_facts.bind(std::string_view(op.hash), static_cast<uint64_t>(op.bytes.size()), int32_t{op.is_environment});
  return run(blobs_.put_facts);
}

base::Status WriteOps::on(const ReleaseBlob& op) {
  blobs_.release.bind(std::string_view(op.hash), op.at.us);
  return run(blobs_.release);
}

base::Status WriteOps::on(const DropBlob& op) {
  GW_TRY_STATUS(run(named(blobs_.drop, op.hash)));
  return run(named(blobs_.drop_facts, op.hash));
}

base::Status WriteOps::on(const PutNode& op) { return put(cluster_.put_node, op.name, op.bytes); }
base::Status WriteOps::on(const PutPartition& op) { return put(cluster_.put_partition, op.name, op.bytes); }
base::Status WriteOps::on(const PutReservation& op) { return put(cluster_.put_reservation, op.name, op.bytes); }
base::Status WriteOps::on(const PutToken& op) { return put(cluster_.put_token, op.name, op.bytes); }
base::Status WriteOps::on(const DropToken& op) { return run(named(cluster_.drop_token, op.name)); }
base::Status WriteOps::on(const PutMeta& op) { return put(put_meta_, op.key, op.value); }

base::Status WriteOps::on(const PutQos& op) { return put(quotas_.put_qos, op.name, op.bytes); }
base::Status WriteOps::on(const PutQuotaUser& op) { return put(quotas_.put_user, op.name, op.bytes); }
base::Status WriteOps::on(const DropReservation& op) { return run(named(cluster_.drop_reservation, op.name)); }
base::Status WriteOps::on(const DropQos& op) { return run(named(quotas_.drop_qos, op.name)); }
base::Status WriteOps::on(const DropQuotaUser& op) { return run(named(quotas_.drop_user, op.name)); }

base::Status WriteOps::on(const PutStep& op) {
  steps_.put.bind(op.job.value, op.step);
  steps_.put.bind_blob(3, op.bytes);
  return run(steps_.put);
}

base::Status WriteOps::on(const DropStep& op) {
  steps_.drop.bind(op.job.value, op.step);
  return run(steps_.drop);
}

base::Status WriteOps::on(const PutRunNode& op) {
  runs_.put_node.bind(op.job.value, op.step, std::string_view(op.node), op.attempt);
  runs_.put_node.bind_blob(5, op.bytes);
  return run(runs_.put_node);
}

base::Status WriteOps::on(const DropRunNode& op) {
  runs_.drop_node.bind(op.job.value, op.step, std::string_view(op.node));
  return run(runs_.drop_node);
}

base::Status WriteOps::on(const DropRun& op) {
  runs_.drop.bind(op.job.value, op.step);
  return run(runs_.drop);
}

base::Status WriteOps::on(const PutPastRun& op) {
  runs_.put_past.bind(op.job.value, op.attempt, op.step);
  runs_.put_past.bind_blob(4, op.bytes);
  return run(runs_.put_past);
}

base::Status WriteOps::on(const PutReply& op) {
  replies_.put.bind(op.uid, std::string_view(op.client_id));
  replies_.put.bind_blob(3, op.reply);
  replies_.put.bind_one(4, op.at.us);
  return run(replies_.put);
}

base::Status WriteOps::on(const DropReply& op) {
  replies_.drop.bind(op.uid, std::string_view(op.client_id));
  return run(replies_.drop);
}

base::Status WriteOps::on(const DropReplies& op) {
  replies_.drop_before.bind(op.before.us);
  return run(replies_.drop_before);
}

base::Status WriteOps::on(const PutUsage& op) {
  usage_.put.bind(std::string_view(op.kind), std::string_view(op.name), op.amount, op.at.us);
  return run(usage_.put);
}

base::Status WriteOps::on(const DropUsage& op) {
  usage_.drop.bind(std::string_view(op.kind), std::string_view(op.name));
  return run(usage_.drop);
}

base::Status WriteOps::on(const Event& op) {
  put_event_.bind(op.at.us, op.job.value, std::string_view(op.node), std::string_view(op.kind),
                  std::string_view(op.text), column_of_user(op.uid));
  return run(put_event_);
}

base::Status WriteOps::on(const Audit& op) {
  put_audit_.bind(op.at.us, column_of_user(op.uid), std::string_view(op.kind), std::string_view(op.object),
                  std::string_view(op.text), op.is_refusal ? 1U : 0U);
  return run(put_audit_);
}

JobRow read_job(const Statement& s, bool with_spec) {
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
  if (with_spec) r.spec = s.bytes(19);
  return r;
}

}  // namespace gw::store
