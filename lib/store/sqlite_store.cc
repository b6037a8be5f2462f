// The writer on SQLite. One connection, prepared statements, one transaction per commit().
// Failure policy: a failed commit is rolled back whole; if even that fails the connection is dropped and the next
// commit opens it again. The integrity check reads the whole file (about 1 s for 1 GiB in the page cache), so it is
// left out above check_up_to_bytes, which the note says.
#include "store/sqlite_store.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <optional>

#include "store/backup.h"
#include "store/held_rows.h"
#include "store/retire.h"
#include "store/schema.h"
#include "store/sqlite_db.h"
#include "store/state_dir.h"
#include "store/write_ops.h"

namespace gw::store {
namespace {

using base::ErrorCode;

// 1000 pages: a checkpoint every 4 MB of WAL. temp_store=MEMORY: sorting needs no disk, so reads work when it is full.
constexpr char kPragmas[] = R"sql(
PRAGMA journal_mode=WAL;
PRAGMA synchronous=FULL;
PRAGMA wal_autocheckpoint=1000;
PRAGMA journal_size_limit=67108864;
PRAGMA cache_size=-4096;
PRAGMA temp_store=MEMORY;
PRAGMA cell_size_check=ON;
)sql";

class SqliteStore final : public Store {
 public:
  SqliteStore(std::string file, std::optional<StateLock> lock, SqliteOptions options)
      : file_(std::move(file)), lock_(std::move(lock)), options_(std::move(options)) {}

  /// Opens the connection, as at the start and after a failure that SQLite could not roll back.
  base::Status connect();
  base::Result<std::string> migrate_and_check();
  base::Status prepare();

  base::Status commit(std::span<const Batch> batches) override;
  base::Result<Snapshot> load(base::Time ended_since) override;
  base::Result<uint64_t> backup(const std::string& path, const std::function<bool()>& keep_going) override {
    return backup_database(file_, path, keep_going);
  }
  base::Result<uint64_t> retire(const RetireOrder& order) override;

 private:
  base::Status run(Statement& statement);
  base::Status apply_all(std::span<const Batch> batches);
  base::Result<std::vector<JobRow>> read_jobs(const char* sql, int64_t since);
  base::Result<std::vector<NamedBytes>> read_named(const char* sql);
  base::Result<std::vector<PutReply>> read_replies();
  base::Result<std::vector<PutUsage>> read_usage();
  base::Result<std::vector<PutStep>> read_steps();
  base::Result<std::vector<PutRunNode>> read_run_nodes();
  base::Result<std::vector<PutArray>> read_arrays();
  base::Result<std::vector<BlobRow>> read_blobs();
  base::Status load_into(Snapshot& out, base::Time ended_since);
  void drop_connection();

  std::string file_;
  std::optional<StateLock> lock_;  // of a folder of the system
  SqliteOptions options_;
  struct Prepared {
    WriteOps ops;
    Statement begin, commit;
  };
  std::unique_ptr<Database> db_;  // Before the statements, which are finalized first.
  std::unique_ptr<Prepared> prepared_;
};

base::Status SqliteStore::connect() {
  GW_TRY(db, Database::open(file_, Database::Mode::kReadWrite, options_.busy_ms, options_.vfs));
  GW_TRY_STATUS(db.run(kPragmas));
  if (options_.max_pages > 0)
    GW_TRY_STATUS(db.run(fmt::format("PRAGMA max_page_count={}", options_.max_pages).c_str()));
  db_ = std::make_unique<Database>(std::move(db));
  return {};
}

void SqliteStore::drop_connection() {
  prepared_.reset();
  db_.reset();
}

base::Status SqliteStore::prepare() {
  GW_TRY(ops, WriteOps::prepare(*db_));
  GW_TRY(begin, db_->prepare("BEGIN IMMEDIATE"));
  GW_TRY(commit, db_->prepare("COMMIT"));
  prepared_ = std::make_unique<Prepared>(Prepared{std::move(ops), std::move(begin), std::move(commit)});
  return {};
}

base::Result<std::string> SqliteStore::migrate_and_check() {
  GW_TRY(pages, db_->number("PRAGMA page_count"));
  GW_TRY(page_size, db_->number("PRAGMA page_size"));
  bool is_checked = pages * page_size <= options_.check_up_to_bytes;
  if (is_checked) {
    GW_TRY(check, db_->prepare("PRAGMA quick_check(1)"));
    int code = check.step();
    if (code != SQLITE_ROW) return tl::unexpected<base::Error>(db_->error(code));
    if (std::string found = check.bytes(0); found != "ok") return tl::unexpected<base::Error>(damaged(file_, found));
  }
  GW_TRY(note, migrate(*db_, migrations()));
  if (is_checked) return note;
  std::string skipped = fmt::format("integrity not checked: the database is {} MiB large", pages * page_size >> 20);
  return note.empty() ? skipped : note + "; " + skipped;
}

base::Status SqliteStore::run(Statement& statement) {
  const int code = statement.run();
  if (code == SQLITE_DONE) return {};
  return tl::unexpected<base::Error>(db_->error(code));
}

base::Status SqliteStore::apply_all(std::span<const Batch> batches) {
  GW_TRY_STATUS(run(prepared_->begin));
  for (const Batch& batch : batches)
    for (const Op& op : batch) GW_TRY_STATUS(prepared_->ops.apply(op));
  return run(prepared_->commit);
}

base::Status SqliteStore::commit(std::span<const Batch> batches) {
  if (!db_) {
    GW_TRY_STATUS(connect());
    if (base::Status ready = prepare(); !ready) {
      drop_connection();
      return ready;
    }
  }
  base::Status done = apply_all(batches);
  if (!done && db_->in_transaction() && !db_->run("ROLLBACK")) drop_connection();
  return done;
}

base::Result<std::vector<JobRow>> SqliteStore::read_jobs(const char* sql, int64_t since) {
  GW_TRY(select, db_->prepare(sql));
  select.bind(since);
  std::vector<JobRow> rows;
  int code;
  while ((code = select.step()) == SQLITE_ROW) rows.push_back(read_job(select));
  if (code != SQLITE_DONE) return tl::unexpected<base::Error>(db_->error(code));
  return rows;
}

base::Result<std::vector<NamedBytes>> SqliteStore::read_named(const char* sql) {
  GW_TRY(select, db_->prepare(sql));
  std::vector<NamedBytes> rows;
  int code;
  while ((code = select.step()) == SQLITE_ROW) rows.push_back({select.bytes(0), select.bytes(1)});
  if (code != SQLITE_DONE) return tl::unexpected<base::Error>(db_->error(code));
  return rows;
}

base::Result<std::vector<PutReply>> SqliteStore::read_replies() {
  GW_TRY(select, db_->prepare("SELECT uid,client_id,reply,at FROM replies ORDER BY at,uid,client_id"));
  std::vector<PutReply> rows;
  int code;
  while ((code = select.step()) == SQLITE_ROW)
    rows.push_back({static_cast<uint32_t>(select.integer(0)), select.bytes(1), select.bytes(2), {select.integer(3)}});
  if (code != SQLITE_DONE) return tl::unexpected<base::Error>(db_->error(code));
  return rows;
}

base::Result<std::vector<PutUsage>> SqliteStore::read_usage() {
  GW_TRY(select, db_->prepare("SELECT kind,name,amount,at FROM usage ORDER BY kind,name"));
  std::vector<PutUsage> rows;
  int code;
  while ((code = select.step()) == SQLITE_ROW)
    rows.push_back({select.bytes(0), select.bytes(1), select.integer(2), {select.integer(3)}});
  if (code != SQLITE_DONE) return tl::unexpected<base::Error>(db_->error(code));
  return rows;
}

base::Result<std::vector<PutStep>> SqliteStore::read_steps() {
  GW_TRY(select, db_->prepare("SELECT job,step,bytes FROM steps ORDER BY job,step"));
  std::vector<PutStep> rows;
  int code;
  while ((code = select.step()) == SQLITE_ROW)
    rows.push_back({base::JobId(static_cast<uint32_t>(select.integer(0))), static_cast<uint32_t>(select.integer(1)),
                    select.bytes(2)});
  if (code != SQLITE_DONE) return tl::unexpected<base::Error>(db_->error(code));
  return rows;
}

base::Result<std::vector<PutRunNode>> SqliteStore::read_run_nodes() {
  GW_TRY(select, db_->prepare("SELECT job,step,node,attempt,bytes FROM run_nodes ORDER BY job,step,node"));
  std::vector<PutRunNode> rows;
  int code;
  while ((code = select.step()) == SQLITE_ROW)
    rows.push_back({base::JobId(static_cast<uint32_t>(select.integer(0))), static_cast<uint32_t>(select.integer(1)),
                    select.bytes(2), static_cast<uint32_t>(select.integer(3)), select.bytes(4)});
  if (code != SQLITE_DONE) return tl::unexpected<base::Error>(db_->error(code));
  return rows;
}

base::Result<std::vector<PutArray>> SqliteStore::read_arrays() {
  GW_TRY(select, db_->prepare("SELECT job,bytes,ranges FROM arrays WHERE job BETWEEN 1 AND 4294967295 ORDER BY job"));
  std::vector<PutArray> rows;
  int code;
  while ((code = select.step()) == SQLITE_ROW)
    rows.push_back({base::JobId(static_cast<uint32_t>(select.integer(0))), select.bytes(1), select.bytes(2)});
  if (code != SQLITE_DONE) return tl::unexpected<base::Error>(db_->error(code));
  return rows;
}

base::Result<std::vector<BlobRow>> SqliteStore::read_blobs() {
  GW_TRY(select, db_->prepare("SELECT hash,bytes,environment,released FROM blob_facts ORDER BY hash"));
  std::vector<BlobRow> rows;
  int code;
  while ((code = select.step()) == SQLITE_ROW)
    rows.push_back(
        {select.bytes(0), static_cast<uint64_t>(select.integer(1)), select.integer(2) != 0, {select.integer(3)}});
  if (code != SQLITE_DONE) return tl::unexpected<base::Error>(db_->error(code));
  return rows;
}

base::Status SqliteStore::load_into(Snapshot& out, base::Time ended_since) {
  GW_TRY(jobs, read_jobs("SELECT " GW_JOB_COLUMNS " FROM jobs WHERE ?1=0 ORDER BY id", 0));
  GW_TRY(ended, read_jobs("SELECT " GW_JOB_COLUMNS
                          " FROM ended_jobs WHERE (ended>=?1 OR id IN (SELECT job FROM arrays)) AND id BETWEEN 1 AND "
                          "4294967295",
                          ended_since.us));
  // Sorted here: ORDER BY id would make SQLite read the whole table instead of its index by end.
  std::sort(ended.begin(), ended.end(), [](const JobRow& a, const JobRow& b) { return a.id < b.id; });
  GW_TRY(nodes, read_named("SELECT name,bytes FROM nodes ORDER BY name"));
  GW_TRY(partitions, read_named("SELECT name,bytes FROM partitions ORDER BY name"));
  GW_TRY(meta, read_named("SELECT name,value FROM meta ORDER BY name"));
  GW_TRY(replies, read_replies());
  GW_TRY(reservations, read_named("SELECT name,bytes FROM reservations ORDER BY name"));
  GW_TRY(usage, read_usage());
  GW_TRY(qos, read_named("SELECT name,bytes FROM qos ORDER BY name"));
  GW_TRY(users, read_named("SELECT name,bytes FROM quota_users ORDER BY name"));
  GW_TRY(steps, read_steps());
  GW_TRY(run_nodes, read_run_nodes());
  GW_TRY(blobs, read_blobs());
  GW_TRY(arrays, read_arrays());
  GW_TRY(held, read_held(*db_));
  GW_TRY(tokens, read_named("SELECT name,bytes FROM tokens ORDER BY name"));
  GW_TRY(last_job, last_job_named(*db_));
  out = {std::move(jobs),  std::move(ended),   std::move(nodes),        std::move(partitions),
         std::move(meta),  std::move(replies), std::move(reservations), std::move(usage),
         std::move(qos),   std::move(users),   std::move(steps),        std::move(run_nodes),
         std::move(blobs), std::move(arrays),  std::move(held),         std::move(tokens),
         last_job};
  return {};
}

base::Result<uint64_t> SqliteStore::retire(const RetireOrder& order) {
  if (!db_) GW_TRY_STATUS(connect().and_then([this] { return prepare(); }));
  return store::retire(*db_, order);
}

base::Result<Snapshot> SqliteStore::load(base::Time ended_since) {
  if (!db_) GW_TRY_STATUS(connect().and_then([this] { return prepare(); }));
  GW_TRY_STATUS(hold_unfit(*db_));
  Snapshot out;
  GW_TRY_STATUS(load_into(out, ended_since));
  return out;
}

/// A folder of the system, to be used by nobody else.
struct Folder {
  std::string warning;
  std::optional<StateLock> lock;
  bool is_new = false;
};

base::Result<Folder> take_folder(const std::string& dir, const std::string& file, int busy_ms) {
  GW_TRY(warning, check_state_dir(dir));
  GW_TRY(lock, StateLock::take(dir, busy_ms));
  GW_TRY(is_new, make_private_file(file));
  return Folder{warning, std::move(lock), is_new};
}

}  // namespace

base::Result<Opened> open_sqlite(const std::string& dir, const SqliteOptions& options) {
  std::string file = dir + "/" + kDatabaseName;
  GW_TRY(folder, options.vfs.empty() ? take_folder(dir, file, options.busy_ms) : Folder{});
  auto store = std::make_unique<SqliteStore>(file, std::move(folder.lock), options);
  GW_TRY_STATUS(store->connect());
  GW_TRY(note, store->migrate_and_check());
  GW_TRY_STATUS(store->prepare());
  if (folder.is_new) GW_TRY_STATUS(sync_dir(dir));
  if (!folder.warning.empty()) note += (note.empty() ? "" : "; ") + folder.warning;
  return Opened{std::move(store), note};
}

base::Result<Opened> open_sqlite(const std::string& dir) { return open_sqlite(dir, SqliteOptions{}); }

}  // namespace gw::store
