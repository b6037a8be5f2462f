// The schema and its history. See schema.h.
// `jobs` and `ended_jobs` have the same columns. Times are microseconds since the epoch, 0 for never. `spec`, `status`,
// `bytes` and `reply` are serialised messages.
#include "store/schema.h"

#include <fmt/format.h>

#include "base/check.h"

namespace gw::store {
namespace {

constexpr char kVersion1[] = R"sql(
CREATE TABLE meta(name TEXT NOT NULL PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;

CREATE TABLE jobs(
  id INTEGER PRIMARY KEY, state INTEGER NOT NULL, uid INTEGER NOT NULL, user TEXT NOT NULL, name TEXT NOT NULL,
  partition TEXT NOT NULL, account TEXT NOT NULL, qos TEXT NOT NULL, nodes TEXT NOT NULL, node_count INTEGER NOT NULL,
  cpus INTEGER NOT NULL, gpus INTEGER NOT NULL, mem_mb INTEGER NOT NULL, submitted INTEGER NOT NULL,
  started INTEGER NOT NULL, ended INTEGER NOT NULL, exit_code INTEGER NOT NULL, exit_signo INTEGER NOT NULL,
  status BLOB NOT NULL, spec BLOB NOT NULL);

CREATE TABLE ended_jobs(
  id INTEGER PRIMARY KEY, state INTEGER NOT NULL, uid INTEGER NOT NULL, user TEXT NOT NULL, name TEXT NOT NULL,
  partition TEXT NOT NULL, account TEXT NOT NULL, qos TEXT NOT NULL, nodes TEXT NOT NULL, node_count INTEGER NOT NULL,
  cpus INTEGER NOT NULL, gpus INTEGER NOT NULL, mem_mb INTEGER NOT NULL, submitted INTEGER NOT NULL,
  started INTEGER NOT NULL, ended INTEGER NOT NULL, exit_code INTEGER NOT NULL, exit_signo INTEGER NOT NULL,
  status BLOB NOT NULL, spec BLOB NOT NULL);
CREATE INDEX ended_jobs_by_ended ON ended_jobs(ended);
CREATE INDEX ended_jobs_by_user ON ended_jobs(user, ended);
CREATE INDEX ended_jobs_by_state ON ended_jobs(state, ended);

CREATE TABLE events(
  seq INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, job INTEGER NOT NULL, node TEXT NOT NULL,
  kind TEXT NOT NULL, text TEXT NOT NULL, uid INTEGER NOT NULL);
CREATE INDEX events_by_job ON events(job, seq) WHERE job <> 0;
CREATE INDEX events_by_node ON events(node, seq) WHERE node <> '';

CREATE TABLE blobs(hash TEXT NOT NULL UNIQUE, bytes BLOB NOT NULL);
CREATE TABLE nodes(name TEXT NOT NULL UNIQUE, bytes BLOB NOT NULL);
CREATE TABLE partitions(name TEXT NOT NULL UNIQUE, bytes BLOB NOT NULL);

CREATE TABLE replies(
  uid INTEGER NOT NULL, client_id TEXT NOT NULL, reply BLOB NOT NULL, at INTEGER NOT NULL,
  PRIMARY KEY(uid, client_id)) WITHOUT ROWID;
CREATE INDEX replies_by_at ON replies(at);
)sql";

constexpr char kVersion2[] = R"sql(
CREATE TABLE reservations(name TEXT NOT NULL UNIQUE, bytes BLOB NOT NULL);
)sql";

constexpr char kVersion3[] = R"sql(
CREATE TABLE usage(
  kind TEXT NOT NULL, name TEXT NOT NULL, amount INTEGER NOT NULL, at INTEGER NOT NULL,
  PRIMARY KEY(kind, name)) WITHOUT ROWID;
)sql";

constexpr char kVersion4[] = R"sql(
CREATE TABLE qos(name TEXT NOT NULL UNIQUE, bytes BLOB NOT NULL);
CREATE TABLE quota_users(name TEXT NOT NULL UNIQUE, bytes BLOB NOT NULL);
)sql";

constexpr char kVersion5[] = R"sql(
CREATE TABLE steps(
  job INTEGER NOT NULL, step INTEGER NOT NULL, bytes BLOB NOT NULL, PRIMARY KEY(job, step)) WITHOUT ROWID;
)sql";

// Of jobs that were placed before this version the nodes stand in their status, and of their steps in theirs, until the
// controller that reads them writes them anew.
constexpr char kVersion6[] = R"sql(
CREATE TABLE run_nodes(
  job INTEGER NOT NULL, step INTEGER NOT NULL, node TEXT NOT NULL, attempt INTEGER NOT NULL, bytes BLOB NOT NULL,
  PRIMARY KEY(job, step, node)) WITHOUT ROWID;
)sql";

// What is known of a blob stands apart from its bytes: asking for it reads no long row.
constexpr char kVersion7[] = R"sql(
CREATE TABLE blob_facts(
  hash TEXT NOT NULL PRIMARY KEY, bytes INTEGER NOT NULL, environment INTEGER NOT NULL, released INTEGER NOT NULL)
  WITHOUT ROWID;
INSERT INTO blob_facts SELECT hash,length(bytes),0,0 FROM blobs;
)sql";

// Rows that cannot be read, each with a line for every field of it. A value keeps the type and the bytes that it had.
constexpr char kVersion8[] = R"sql(
CREATE TABLE held_aside(
  kind TEXT NOT NULL, name TEXT NOT NULL, reason TEXT NOT NULL, since INTEGER NOT NULL, nodes TEXT NOT NULL,
  PRIMARY KEY(kind, name)) WITHOUT ROWID;
CREATE TABLE held_values(
  kind TEXT NOT NULL, name TEXT NOT NULL, field TEXT NOT NULL, value, PRIMARY KEY(kind, name, field)) WITHOUT ROWID;
)sql";

// Records are asked for by who, where and when: those that ended after one time and were submitted before another. With
// both in the index no row is read in vain.
constexpr char kVersion9[] = R"sql(
CREATE TABLE past_runs(
  job INTEGER NOT NULL, attempt INTEGER NOT NULL, step INTEGER NOT NULL, bytes BLOB NOT NULL,
  PRIMARY KEY(job, attempt, step)) WITHOUT ROWID;
DROP INDEX ended_jobs_by_ended;
DROP INDEX ended_jobs_by_user;
DROP INDEX ended_jobs_by_state;
CREATE INDEX ended_jobs_by_ended ON ended_jobs(ended, submitted);
CREATE INDEX ended_jobs_by_user ON ended_jobs(user, ended, submitted);
CREATE INDEX ended_jobs_by_account ON ended_jobs(account, ended, submitted);
CREATE INDEX ended_jobs_by_qos ON ended_jobs(qos, ended, submitted);
CREATE INDEX ended_jobs_by_partition ON ended_jobs(partition, ended, submitted);
)sql";

constexpr char kVersion10[] = R"sql(
CREATE TABLE arrays(job INTEGER PRIMARY KEY, bytes BLOB NOT NULL);
)sql";

// Which jobs are tasks of an array, or stand for several of them (task -1), until their records are gone.
constexpr char kVersion11[] = R"sql(
CREATE TABLE array_jobs(id INTEGER PRIMARY KEY, array INTEGER NOT NULL, task INTEGER NOT NULL);
CREATE INDEX array_jobs_by_task ON array_jobs(array, task, id);
ALTER TABLE arrays ADD COLUMN ranges BLOB NOT NULL DEFAULT x'';
)sql";

// What happened to nodes, quotas and partitions is found without reading what happened to jobs.
constexpr char kVersion12[] = R"sql(
CREATE INDEX events_of_no_job ON events(seq) WHERE job = 0;
)sql";

// Who did what to what is not his own. Lines are numbered in the order of their times.
constexpr char kVersion13[] = R"sql(
CREATE TABLE audit(
  seq INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, uid INTEGER NOT NULL, kind TEXT NOT NULL,
  object TEXT NOT NULL, text TEXT NOT NULL, refused INTEGER NOT NULL);
CREATE INDEX audit_by_user ON audit(uid, seq);
)sql";

// What programs show that act for a user.
constexpr char kVersion14[] = R"sql(
CREATE TABLE tokens(name TEXT NOT NULL UNIQUE, bytes BLOB NOT NULL);
)sql";

constexpr Migration kMigrations[] = {{1, kVersion1},   {2, kVersion2},   {3, kVersion3},   {4, kVersion4},
                                     {5, kVersion5},   {6, kVersion6},   {7, kVersion7},   {8, kVersion8},
                                     {9, kVersion9},   {10, kVersion10}, {11, kVersion11}, {12, kVersion12},
                                     {13, kVersion13}, {14, kVersion14}};

// "GANG" in ASCII: tells our files from other programs' (file(1) and sqlite3 show it).
constexpr int64_t kApplicationId = 0x47414E47;

base::Status check_owner(Database& db, int64_t version) {
  GW_TRY(application, db.number("PRAGMA application_id"));
  GW_TRY(objects, db.number("SELECT count(*) FROM sqlite_schema"));
  bool is_ours = application == kApplicationId || (application == 0 && version == 0 && objects == 0);
  if (!is_ours)
    return base::invalid(db.file() + " is a database of another program",
                         "give another state_dir, or move the file away");
  return {};
}

base::Status apply(Database& db, std::span<const Migration> steps, int64_t from) {
  GW_TRY_STATUS(db.run("BEGIN IMMEDIATE"));
  auto run_all = [&]() -> base::Status {
    for (const Migration& step : steps) {
      if (step.to <= from) continue;
      GW_TRY_STATUS(db.run(step.sql));
      GW_TRY_STATUS(db.run(fmt::format("PRAGMA user_version={}", step.to).c_str()));
    }
    GW_TRY_STATUS(db.run(fmt::format("PRAGMA application_id={}", kApplicationId).c_str()));
    return db.run("COMMIT");
  };
  base::Status done = run_all();
  if (!done && db.in_transaction()) (void)db.run("ROLLBACK");
  return done;
}

}  // namespace

std::span<const Migration> migrations() { return kMigrations; }

base::Result<std::string> migrate(Database& db, std::span<const Migration> steps) {
  GW_CHECK(!steps.empty());
  int newest = steps.back().to;
  GW_TRY(found, db.number("PRAGMA user_version"));
  GW_TRY_STATUS(check_owner(db, found));
  if (found > newest)
    return base::invalid(
        fmt::format("{} was written by a newer Gangway (schema version {}; this program knows up to {})", db.file(),
                    found, newest),
        "install the newer version again, or restore a backup made before the upgrade");
  if (found == newest) return std::string();
  GW_TRY_STATUS(apply(db, steps, found));
  if (found == 0) return std::string("created");
  return fmt::format("migrated from version {} to {}", found, newest);
}

}  // namespace gw::store
