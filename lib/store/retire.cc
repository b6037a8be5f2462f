// See retire.h.
#include "store/retire.h"

#include <sqlite3.h>

#include "store/state_dir.h"
#include "store/write_ops.h"

namespace gw::store {
namespace {

constexpr char kArchiveSchema[] = R"sql(
PRAGMA synchronous=FULL;
CREATE TABLE IF NOT EXISTS ended_jobs(
  id INTEGER PRIMARY KEY, state INTEGER NOT NULL, uid INTEGER NOT NULL, user TEXT NOT NULL, name TEXT NOT NULL,
  partition TEXT NOT NULL, account TEXT NOT NULL, qos TEXT NOT NULL, nodes TEXT NOT NULL, node_count INTEGER NOT NULL,
  cpus INTEGER NOT NULL, gpus INTEGER NOT NULL, mem_mb INTEGER NOT NULL, submitted INTEGER NOT NULL,
  started INTEGER NOT NULL, ended INTEGER NOT NULL, exit_code INTEGER NOT NULL, exit_signo INTEGER NOT NULL,
  status BLOB NOT NULL, spec BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS events(
  seq INTEGER PRIMARY KEY, at INTEGER NOT NULL, job INTEGER NOT NULL, node TEXT NOT NULL, kind TEXT NOT NULL,
  text TEXT NOT NULL, uid INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS audit(
  seq INTEGER PRIMARY KEY, at INTEGER NOT NULL, uid INTEGER NOT NULL, kind TEXT NOT NULL, object TEXT NOT NULL,
  text TEXT NOT NULL, refused INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS past_runs(
  job INTEGER NOT NULL, attempt INTEGER NOT NULL, step INTEGER NOT NULL, bytes BLOB NOT NULL,
  PRIMARY KEY(job, attempt, step)) WITHOUT ROWID;
)sql";

// Lines are numbered in the order of their times, so the oldest are found without an index by time. Macros, so that
// each statement is one literal.
#define GW_OLD_JOBS(in) "SELECT id FROM " in ".ended_jobs WHERE ended<?1 ORDER BY ended,id LIMIT ?2"
#define GW_OLD_EVENTS(in) "SELECT seq FROM (SELECT seq,at FROM " in ".events ORDER BY seq LIMIT ?2) WHERE at<?1"
#define GW_OLD_AUDIT(in) "SELECT seq FROM (SELECT seq,at FROM " in ".audit ORDER BY seq LIMIT ?2) WHERE at<?1"

constexpr char kCopyJobs[] = "INSERT OR REPLACE INTO main.ended_jobs(" GW_JOB_COLUMNS ") SELECT " GW_JOB_COLUMNS
                             " FROM live.ended_jobs WHERE id IN (" GW_OLD_JOBS("live") ")";
constexpr char kCopyRuns[] =
    "INSERT OR REPLACE INTO main.past_runs SELECT job,attempt,step,bytes FROM live.past_runs WHERE job IN "
    "(" GW_OLD_JOBS("live") ")";
constexpr char kCopyEvents[] =
    "INSERT OR REPLACE INTO main.events SELECT seq,at,job,node,kind,text,uid FROM live.events WHERE seq IN "
    "(" GW_OLD_EVENTS("live") ")";
constexpr char kCopyAudit[] =
    "INSERT OR REPLACE INTO main.audit SELECT seq,at,uid,kind,object,text,refused FROM live.audit WHERE seq IN "
    "(" GW_OLD_AUDIT("live") ")";
constexpr char kDropJobs[] = "DELETE FROM main.ended_jobs WHERE id IN (" GW_OLD_JOBS("main") ")";
constexpr char kDropPlaces[] = "DELETE FROM main.array_jobs WHERE id IN (" GW_OLD_JOBS("main") ")";
constexpr char kDropRuns[] = "DELETE FROM main.past_runs WHERE job IN (" GW_OLD_JOBS("main") ")";
constexpr char kDropEvents[] = "DELETE FROM main.events WHERE seq IN (" GW_OLD_EVENTS("main") ")";
constexpr char kDropAudit[] = "DELETE FROM main.audit WHERE seq IN (" GW_OLD_AUDIT("main") ")";

base::Status run(Database& db, const char* sql, base::Time before, size_t most) {
  GW_TRY(statement, db.prepare(sql));
  statement.bind(before.us, static_cast<uint64_t>(most));
  const int code = statement.run();
  if (code == SQLITE_DONE) return {};
  return tl::unexpected<base::Error>(db.error(code));
}

/// The same rows that are deleted afterwards, by a connection of the archive's own: its commit is durable by itself.
base::Status copy(const std::string& live, const RetireOrder& order) {
  GW_TRY(is_new, make_private_file(order.archive));
  (void)is_new;
  GW_TRY(db, Database::open(order.archive, Database::Mode::kReadWrite));
  GW_TRY_STATUS(db.run(kArchiveSchema));
  {
    GW_TRY(attach, db.prepare("ATTACH ?1 AS live"));
    attach.bind(std::string_view(live));
    if (const int code = attach.run(); code != SQLITE_DONE) return tl::unexpected<base::Error>(db.error(code));
  }
  GW_TRY_STATUS(db.run("BEGIN IMMEDIATE"));
  GW_TRY_STATUS(run(db, kCopyJobs, order.jobs_before, order.most));
  GW_TRY_STATUS(run(db, kCopyRuns, order.jobs_before, order.most));
  GW_TRY_STATUS(run(db, kCopyEvents, order.events_before, order.most));
  GW_TRY_STATUS(run(db, kCopyAudit, order.audit_before, order.most));
  return db.run("COMMIT");
}

}  // namespace

base::Result<uint64_t> retire(Database& db, const RetireOrder& order) {
  if (!order.archive.empty()) GW_TRY_STATUS(copy(db.file(), order));
  GW_TRY_STATUS(db.run("BEGIN IMMEDIATE"));
  uint64_t gone = 0;
  const auto remove = [&]() -> base::Status {
    GW_TRY_STATUS(run(db, kDropRuns, order.jobs_before, order.most));  // while the jobs say which
    GW_TRY_STATUS(run(db, kDropPlaces, order.jobs_before, order.most));
    GW_TRY_STATUS(run(db, kDropJobs, order.jobs_before, order.most));
    gone += static_cast<uint64_t>(db.changed());
    GW_TRY_STATUS(run(db, kDropEvents, order.events_before, order.most));
    gone += static_cast<uint64_t>(db.changed());
    GW_TRY_STATUS(run(db, kDropAudit, order.audit_before, order.most));
    gone += static_cast<uint64_t>(db.changed());
    return db.run("COMMIT");
  };
  const base::Status done = remove();
  if (done) return gone;
  if (db.in_transaction()) (void)db.run("ROLLBACK");
  return tl::unexpected<base::Error>(done.error());
}

}  // namespace gw::store
