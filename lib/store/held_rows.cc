// Moving rows aside. See held_rows.h.
#include "store/held_rows.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <string>

namespace gw::store {
namespace {

// Statements begin with the name that the row gets; what follows it are the fields of the row.
struct Table {
  RowKind kind;
  const char* by_key;       ///< The row with this key.
  const char* drop_by_key;  ///< Likewise.
  const char* unfit;        ///< All rows whose numbers are out of range.
  const char* drop_unfit;
};

#define GW_U32(column) "NOT(typeof(" column ")='integer' AND " column " BETWEEN 0 AND 4294967295)"
#define GW_I32(column) "NOT(typeof(" column ")='integer' AND " column " BETWEEN -2147483648 AND 2147483647)"
#define GW_I64(column) "typeof(" column ")<>'integer'"
#define GW_U63(column) "NOT(typeof(" column ")='integer' AND " column ">=0)"
#define GW_UNFIT_JOB \
  "id NOT BETWEEN 1 AND 4294967295 OR " GW_U32("state") " OR " GW_U32("uid") " OR " GW_U32("node_count") " OR "    \
  GW_U32("cpus") " OR " GW_U32("gpus") " OR " GW_U63("mem_mb") " OR " GW_I64("submitted") " OR " GW_I64("started") \
  " OR " GW_I64("ended") " OR " GW_I32("exit_code") " OR " GW_I32("exit_signo")
#define GW_UNFIT_STEP GW_U32("job") " OR " GW_U32("step")
#define GW_UNFIT_RUN GW_UNFIT_STEP " OR " GW_U32("attempt")
#define GW_UNFIT_USAGE GW_I64("amount") " OR " GW_I64("at")
#define GW_UNFIT_REPLY GW_U32("uid") " OR " GW_I64("at")
#define GW_UNFIT_SCRIPT GW_U63("bytes") " OR " GW_U63("environment") " OR " GW_I64("released")
#define GW_STEP_NAME "CAST(job AS TEXT)||'.'||CAST(step AS TEXT)"
#define GW_RUN_NAME "CAST(job AS TEXT)||iif(step=0,'','.'||CAST(step-1 AS TEXT))||'/'||node"

// Tables of names and bytes have no numbers.
constexpr char kNone[] = "";
constexpr Table kTables[] = {
    {RowKind::kJob, "SELECT CAST(id AS TEXT),* FROM jobs WHERE id=?1", "DELETE FROM jobs WHERE id=?1",
     "SELECT CAST(id AS TEXT),* FROM jobs WHERE " GW_UNFIT_JOB, "DELETE FROM jobs WHERE " GW_UNFIT_JOB},
    // History is long, and only the end of it is read by the controller.
    {RowKind::kEndedJob, "SELECT CAST(id AS TEXT),* FROM ended_jobs WHERE id=?1", "DELETE FROM ended_jobs WHERE id=?1",
     kNone, kNone},
    {RowKind::kRun, "SELECT " GW_RUN_NAME ",* FROM run_nodes WHERE job=?1 AND step=?2 AND node=?3",
     "DELETE FROM run_nodes WHERE job=?1 AND step=?2 AND node=?3",
     "SELECT " GW_RUN_NAME ",* FROM run_nodes WHERE " GW_UNFIT_RUN, "DELETE FROM run_nodes WHERE " GW_UNFIT_RUN},
    {RowKind::kStep, "SELECT " GW_STEP_NAME ",* FROM steps WHERE job=?1 AND step=?2",
     "DELETE FROM steps WHERE job=?1 AND step=?2", "SELECT " GW_STEP_NAME ",* FROM steps WHERE " GW_UNFIT_STEP,
     "DELETE FROM steps WHERE " GW_UNFIT_STEP},
    {RowKind::kNode, "SELECT name,* FROM nodes WHERE name=?1", "DELETE FROM nodes WHERE name=?1", kNone, kNone},
    {RowKind::kPartition, "SELECT name,* FROM partitions WHERE name=?1", "DELETE FROM partitions WHERE name=?1", kNone,
     kNone},
    {RowKind::kReservation, "SELECT name,* FROM reservations WHERE name=?1", "DELETE FROM reservations WHERE name=?1",
     kNone, kNone},
    {RowKind::kQos, "SELECT name,* FROM qos WHERE name=?1", "DELETE FROM qos WHERE name=?1", kNone, kNone},
    {RowKind::kUser, "SELECT name,* FROM quota_users WHERE name=?1", "DELETE FROM quota_users WHERE name=?1", kNone,
     kNone},
    {RowKind::kUsage, "SELECT kind||'/'||name,* FROM usage WHERE kind=?1 AND name=?2",
     "DELETE FROM usage WHERE kind=?1 AND name=?2", "SELECT kind||'/'||name,* FROM usage WHERE " GW_UNFIT_USAGE,
     "DELETE FROM usage WHERE " GW_UNFIT_USAGE},
    {RowKind::kReply, "SELECT CAST(uid AS TEXT)||'/'||client_id,* FROM replies WHERE uid=?1 AND client_id=?2",
     "DELETE FROM replies WHERE uid=?1 AND client_id=?2",
     "SELECT CAST(uid AS TEXT)||'/'||client_id,* FROM replies WHERE " GW_UNFIT_REPLY,
     "DELETE FROM replies WHERE " GW_UNFIT_REPLY},
    {RowKind::kSetting, "SELECT name,* FROM meta WHERE name=?1", "DELETE FROM meta WHERE name=?1", kNone, kNone},
    {RowKind::kScript, "SELECT hash,* FROM blob_facts WHERE hash=?1", "DELETE FROM blob_facts WHERE hash=?1",
     "SELECT hash,* FROM blob_facts WHERE " GW_UNFIT_SCRIPT, "DELETE FROM blob_facts WHERE " GW_UNFIT_SCRIPT},
    {RowKind::kArray, "SELECT CAST(job AS TEXT),* FROM arrays WHERE job=?1", "DELETE FROM arrays WHERE job=?1",
     "SELECT CAST(job AS TEXT),* FROM arrays WHERE " GW_U32("job"), "DELETE FROM arrays WHERE " GW_U32("job")},
    {RowKind::kToken, "SELECT name,* FROM tokens WHERE name=?1", "DELETE FROM tokens WHERE name=?1", kNone, kNone},
};

const Table& table_of(RowKind kind) { return kTables[static_cast<size_t>(kind)]; }

base::Status run(Database& db, Statement& s) {
  const int code = s.run();
  if (code == SQLITE_DONE) return {};
  return tl::unexpected<base::Error>(db.error(code));
}

void bind_key(Statement& s, const std::vector<KeyValue>& key) {
  int index = 0;
  for (const KeyValue& value : key) {
    ++index;
    if (const auto* number = std::get_if<int64_t>(&value))
      s.bind_one(index, *number);
    else
      s.bind_one(index, std::string_view(std::get<std::string>(value)));
  }
}

/// The row that `from` stands at, whose first column is no field of it.
base::Status keep(Database& db, const Statement& from, const HeldRow& row) {
  GW_TRY(put, db.prepare("INSERT INTO held_aside(kind,name,reason,since,nodes) VALUES(?1,?2,?3,?4,?5)"));
  put.bind(std::string_view(row.kind), std::string_view(row.name), std::string_view(row.reason), row.since.us,
           std::string_view(row.nodes));
  GW_TRY_STATUS(run(db, put));
  GW_TRY(value, db.prepare("INSERT INTO held_values(kind,name,field,value) VALUES(?1,?2,?3,?4)"));
  for (int column = 1; column < from.columns(); ++column) {
    const std::string field = from.column_name(column);
    value.bind(std::string_view(row.kind), std::string_view(row.name), std::string_view(field));
    value.bind_column(4, from, column);
    GW_TRY_STATUS(run(db, value));
  }
  return {};
}

/// Two rows that cannot be read may have one name.
base::Result<std::string> free_name(Database& db, std::string_view kind, const std::string& name) {
  GW_TRY(find, db.prepare("SELECT 1 FROM held_aside WHERE kind=?1 AND name=?2"));
  std::string found = name;
  for (int n = 2;; ++n) {
    find.bind(kind, std::string_view(found));
    const int code = find.step();
    find.reset();
    if (code == SQLITE_DONE) return found;
    if (code != SQLITE_ROW) return tl::unexpected<base::Error>(db.error(code));
    found = fmt::format("{}#{}", name, n);
  }
}

base::Status hold_unfit_of(Database& db, const Table& table) {
  if (*table.unfit == '\0') return {};
  GW_TRY(select, db.prepare(table.unfit));
  int code;
  bool has_some = false;
  while ((code = select.step()) == SQLITE_ROW) {
    HeldRow row;
    row.kind = word_of(table.kind);
    GW_TRY(name, free_name(db, row.kind, select.bytes(0)));
    row.name = std::move(name);
    row.reason = "a number in it is none, or out of range";
    GW_TRY_STATUS(keep(db, select, row));
    has_some = true;
  }
  if (code != SQLITE_DONE) return tl::unexpected<base::Error>(db.error(code));
  return has_some ? db.run(table.drop_unfit) : base::Status();
}

}  // namespace

base::Status hold_aside(Database& db, const HoldAside& op) {
  const Table& table = table_of(op.from);
  GW_TRY(select, db.prepare(table.by_key));
  bind_key(select, op.key);
  const int code = select.step();
  if (code == SQLITE_DONE) return {};
  if (code != SQLITE_ROW) return tl::unexpected<base::Error>(db.error(code));
  GW_TRY_STATUS(keep(db, select, op.row));
  select.reset();
  GW_TRY(drop, db.prepare(table.drop_by_key));
  bind_key(drop, op.key);
  return run(db, drop);
}

base::Status put_held(Database& db, const HeldRow& row) {
  GW_TRY(put, db.prepare("UPDATE held_aside SET reason=?3,since=?4,nodes=?5 WHERE kind=?1 AND name=?2"));
  put.bind(std::string_view(row.kind), std::string_view(row.name), std::string_view(row.reason), row.since.us,
           std::string_view(row.nodes));
  return run(db, put);
}

base::Status drop_held(Database& db, const DropHeld& op) {
  for (const char* sql :
       {"DELETE FROM held_values WHERE kind=?1 AND name=?2", "DELETE FROM held_aside WHERE kind=?1 AND name=?2"}) {
    GW_TRY(drop, db.prepare(sql));
    drop.bind(std::string_view(op.kind), std::string_view(op.name));
    GW_TRY_STATUS(run(db, drop));
  }
  return {};
}

base::Status hold_unfit(Database& db) {
  GW_TRY_STATUS(db.run("BEGIN IMMEDIATE"));
  const auto move_all = [&]() -> base::Status {
    for (const Table& table : kTables) GW_TRY_STATUS(hold_unfit_of(db, table));
    return db.run("COMMIT");
  };
  base::Status done = move_all();
  if (!done && db.in_transaction()) (void)db.run("ROLLBACK");
  return done;
}

base::Result<std::vector<HeldRow>> read_held(Database& db) {
  GW_TRY(select, db.prepare("SELECT kind,name,reason,since,nodes FROM held_aside ORDER BY kind,name"));
  std::vector<HeldRow> rows;
  int code;
  while ((code = select.step()) == SQLITE_ROW)
    rows.push_back({select.bytes(0), select.bytes(1), select.bytes(2), {select.integer(3)}, select.bytes(4)});
  if (code != SQLITE_DONE) return tl::unexpected<base::Error>(db.error(code));
  return rows;
}

base::Result<base::JobId> last_job_named(Database& db) {
  GW_TRY(last, db.number("SELECT max(ifnull((SELECT max(id) FROM jobs),0),"
                         "ifnull((SELECT max(id) FROM ended_jobs WHERE id<=4294967295),0),"
                         "ifnull((SELECT max(job) FROM events WHERE job<>0 AND job<=4294967295),0))"));
  return base::JobId(static_cast<uint32_t>(std::max<int64_t>(last, 0)));
}

}  // namespace gw::store
