// The reader on SQLite: a connection of its own; each call is one short read transaction, so that the WAL can be reset.
#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>

#include "store/sqlite_db.h"
#include "store/sqlite_store.h"
#include "store/write_ops.h"

namespace gw::store {
namespace {

using base::ErrorCode;

// At most ?1 of them, with at most ?2 bytes of each text, from ?3 to ?4. A controller's clock may be set back, so that
// `at` need not follow `seq`.
#define GW_NEWEST_EVENTS(which)                                                  \
  "SELECT seq,at,job,node,kind,substr(CAST(text AS BLOB),1,?2),uid FROM events " \
  "WHERE at>=?3 AND at<=?4 AND " which " ORDER BY seq DESC LIMIT ?1"

#define GW_NEWEST_AUDIT(which)                             \
  "SELECT seq,at,uid,kind,object,text,refused FROM audit " \
  "WHERE at>=?2 AND at<=?3 AND " which " ORDER BY seq DESC LIMIT ?1"

// Ends a statement's run, and with it the read transaction, on every way out.
class Run {
 public:
  explicit Run(Statement& s) : statement_(s) {}
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;
  ~Run() { statement_.reset(); }

 private:
  Statement& statement_;
};

class SqliteReader final : public Reader {
 public:
  explicit SqliteReader(Database db) : db_(std::move(db)) {}

  base::Status prepare() {
    GW_TRY(all, db_.prepare(GW_NEWEST_EVENTS("1")));
    GW_TRY(of_job, db_.prepare(GW_NEWEST_EVENTS("job=?5 AND job<>0")));
    GW_TRY(of_node, db_.prepare(GW_NEWEST_EVENTS("node=?5 AND node<>''")));
    GW_TRY(of_no_job, db_.prepare(GW_NEWEST_EVENTS("job=0")));
    GW_TRY(all_audit, db_.prepare(GW_NEWEST_AUDIT("1")));
    GW_TRY(audit_of_user, db_.prepare(GW_NEWEST_AUDIT("uid=?4")));
    all_audit_ = std::move(all_audit);
    audit_of_user_ = std::move(audit_of_user);
    GW_TRY(ended, db_.prepare("SELECT " GW_JOB_COLUMNS " FROM ended_jobs WHERE id=?1"));
    GW_TRY(blob, db_.prepare("SELECT bytes FROM blobs WHERE hash=?1"));
    all_events_ = std::move(all);
    events_of_job_ = std::move(of_job);
    events_of_node_ = std::move(of_node);
    events_of_no_job_ = std::move(of_no_job);
    ended_ = std::move(ended);
    blob_ = std::move(blob);
    return {};
  }

  base::Result<std::vector<EventRow>> events(const EventFilter& filter) override {
    Statement& s = filter.job             ? events_of_job_
                   : !filter.node.empty() ? events_of_node_
                   : filter.of_no_job     ? events_of_no_job_
                                          : all_events_;
    Run run(s);
    const auto bounded = [](size_t n) { return static_cast<int64_t>(std::min<size_t>(n, INT32_MAX)); };
    const int64_t most = bounded(filter.most), most_text = bounded(filter.most_text);
    if (filter.job)
      s.bind(most, most_text, filter.since.us, filter.until.us, filter.job.value);
    else if (filter.node.empty())
      s.bind(most, most_text, filter.since.us, filter.until.us);
    else
      s.bind(most, most_text, filter.since.us, filter.until.us, std::string_view(filter.node));
    std::vector<EventRow> rows;
    int code;
    while ((code = s.step()) == SQLITE_ROW) rows.push_back(read_event(s));
    if (code != SQLITE_DONE) return tl::unexpected<base::Error>(db_.error(code));
    std::reverse(rows.begin(), rows.end());
    return rows;
  }

  base::Result<std::vector<AuditRow>> audit(const AuditFilter& filter) override {
    Statement& s = filter.uid ? audit_of_user_ : all_audit_;
    Run run(s);
    const auto most = static_cast<int64_t>(std::min<size_t>(filter.most, INT32_MAX));
    if (filter.uid)
      s.bind(most, filter.since.us, filter.until.us, column_of_user(filter.uid));
    else
      s.bind(most, filter.since.us, filter.until.us);
    std::vector<AuditRow> rows;
    int code;
    while ((code = s.step()) == SQLITE_ROW)
      rows.push_back({static_cast<uint64_t>(s.integer(0)),
                      {{s.integer(1)},
                       user_of_column(static_cast<uint32_t>(s.integer(2))),
                       s.bytes(3),
                       s.bytes(4),
                       s.bytes(5),
                       s.integer(6) != 0}});
    if (code != SQLITE_DONE) return tl::unexpected<base::Error>(db_.error(code));
    std::reverse(rows.begin(), rows.end());
    return rows;
  }

  base::Result<JobRow> ended_job(base::JobId id) override {
    Run run(ended_);
    ended_.bind(id.value);
    int code = ended_.step();
    if (code == SQLITE_ROW) return read_job(ended_);
    if (code != SQLITE_DONE) return tl::unexpected<base::Error>(db_.error(code));
    return base::fail(ErrorCode::kNotFound, fmt::format("no ended job {}", id.value));
  }

  base::Result<std::string> blob(const std::string& hash) override {
    Run run(blob_);
    blob_.bind(std::string_view(hash));
    int code = blob_.step();
    if (code == SQLITE_ROW) return blob_.bytes(0);
    if (code != SQLITE_DONE) return tl::unexpected<base::Error>(db_.error(code));
    return base::fail(ErrorCode::kNotFound, "no stored text has the hash " + hash);
  }

 private:
  static EventRow read_event(const Statement& s) {
    Event event{{s.integer(1)}, base::JobId(static_cast<uint32_t>(s.integer(2))),   s.bytes(3), s.bytes(4),
                s.bytes(5),     user_of_column(static_cast<uint32_t>(s.integer(6)))};
    return {static_cast<uint64_t>(s.integer(0)), std::move(event)};
  }

  Database db_;
  Statement all_events_, events_of_job_, events_of_node_, events_of_no_job_, all_audit_, audit_of_user_, ended_, blob_;
};

}  // namespace

base::Result<std::unique_ptr<Reader>> open_reader(const std::string& dir) {
  GW_TRY(db, Database::open(dir + "/" + kDatabaseName, Database::Mode::kReadOnly));
  GW_TRY_STATUS(db.run("PRAGMA cache_size=-1024; PRAGMA temp_store=MEMORY"));
  auto reader = std::make_unique<SqliteReader>(std::move(db));
  GW_TRY_STATUS(reader->prepare());
  return reader;
}

}  // namespace gw::store
