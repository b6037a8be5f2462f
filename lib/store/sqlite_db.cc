// SQLite connections and statements. See sqlite_db.h.
#include "store/sqlite_db.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <cstring>
#include <filesystem>

namespace gw::store {

using base::ErrorCode;

Statement::Statement(sqlite3_stmt* raw) : raw_(raw) {}

void Statement::Finalizer::operator()(sqlite3_stmt* raw) const { sqlite3_finalize(raw); }

void Statement::bind_one(int index, int64_t value) {
  if (int code = sqlite3_bind_int64(raw_.get(), index, value); code != SQLITE_OK) bind_error_ = code;
}

void Statement::bind_one(int index, std::string_view text) {
  // A null pointer would bind NULL: an empty view may hold one.
  const char* data = text.empty() ? "" : text.data();
  int code = sqlite3_bind_text64(raw_.get(), index, data, text.size(), SQLITE_STATIC, SQLITE_UTF8);
  if (code != SQLITE_OK) bind_error_ = code;
}

void Statement::bind_blob(int index, std::string_view bytes) {
  const char* data = bytes.empty() ? "" : bytes.data();
  int code = sqlite3_bind_blob64(raw_.get(), index, data, bytes.size(), SQLITE_STATIC);
  if (code != SQLITE_OK) bind_error_ = code;
}

void Statement::bind_column(int index, const Statement& from, int column) {
  const int code = sqlite3_bind_value(raw_.get(), index, sqlite3_column_value(from.raw_.get(), column));
  if (code != SQLITE_OK) bind_error_ = code;
}

int Statement::columns() const { return sqlite3_column_count(raw_.get()); }

std::string Statement::column_name(int column) const {
  const char* name = sqlite3_column_name(raw_.get(), column);
  return name == nullptr ? std::string() : std::string(name);
}

int Statement::step() { return bind_error_ != 0 ? bind_error_ : sqlite3_step(raw_.get()); }

int Statement::run() {
  int code = step();
  reset();
  return code;
}

void Statement::reset() {
  sqlite3_reset(raw_.get());
  sqlite3_clear_bindings(raw_.get());
  bind_error_ = 0;
}

int64_t Statement::integer(int column) const { return sqlite3_column_int64(raw_.get(), column); }

std::string Statement::bytes(int column) const {
  const void* data = sqlite3_column_blob(raw_.get(), column);
  auto size = static_cast<size_t>(sqlite3_column_bytes(raw_.get(), column));
  return data == nullptr ? std::string() : std::string(static_cast<const char*>(data), size);
}

void Database::Closer::operator()(sqlite3* raw) const { sqlite3_close_v2(raw); }

base::Result<Database> Database::open(const std::string& file, Mode mode, int busy_ms, const std::string& vfs) {
  // Read-only connections take write access to the WAL index; query_only keeps them from changing anything.
  sqlite3* raw = nullptr;
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  int code = vfs.empty() ? sqlite3_open_v2(file.c_str(), &raw, flags, nullptr)
                         : sqlite3_open_v2(file.c_str(), &raw, flags | SQLITE_OPEN_CREATE, vfs.c_str());
  Database db;
  db.raw_.reset(raw);
  db.file_ = file;
  if (raw == nullptr) return base::fail(ErrorCode::kUnavailable, "out of memory opening " + file);
  if (code != SQLITE_OK) return tl::unexpected<base::Error>(db.error(code));
  sqlite3_busy_timeout(raw, busy_ms);
  sqlite3_db_config(raw, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(raw, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  if (mode == Mode::kReadOnly) GW_TRY_STATUS(db.run("PRAGMA query_only=ON"));
  return db;
}

void Database::ask_while_running(const std::function<bool()>& keep_going) {
  constexpr int kSteps = 500;
  sqlite3_progress_handler(raw_.get(), 0, nullptr, nullptr);
  keep_going_.reset();
  if (!keep_going) return;
  keep_going_ = std::make_unique<std::function<bool()>>(keep_going);
  const auto ask = [](void* fn) { return (*static_cast<std::function<bool()>*>(fn))() ? 0 : 1; };
  sqlite3_progress_handler(raw_.get(), kSteps, ask, keep_going_.get());
}

base::Status Database::run(const char* sql) {
  int code = sqlite3_exec(raw_.get(), sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return tl::unexpected<base::Error>(error(code));
  return {};
}

base::Result<Statement> Database::prepare(std::string_view sql) {
  sqlite3_stmt* raw = nullptr;
  int code = sqlite3_prepare_v3(raw_.get(), sql.data(), static_cast<int>(sql.size()), SQLITE_PREPARE_PERSISTENT, &raw,
                                nullptr);
  if (code != SQLITE_OK) return tl::unexpected<base::Error>(error(code));
  return Statement(raw);
}

base::Result<int64_t> Database::number(const char* sql) {
  GW_TRY(statement, prepare(sql));
  int code = statement.step();
  if (code != SQLITE_ROW) return tl::unexpected<base::Error>(error(code));
  return statement.integer(0);
}

bool Database::in_transaction() const { return sqlite3_get_autocommit(raw_.get()) == 0; }

int Database::changed() const { return sqlite3_changes(raw_.get()); }

base::Error damaged(const std::string& file, const std::string& why) {
  return base::Error{ErrorCode::kInternal, fmt::format("the database {} is damaged: {}", file, why),
                     fmt::format("stop the controller, move {0}, {0}-wal and {0}-shm away and put a copy made by "
                                 "`gangway backup` in the place of {0}",
                                 file)};
}

namespace {

std::string system_reason(sqlite3* db, int code) {
  int saved_errno = db == nullptr ? 0 : sqlite3_system_errno(db);
  std::string reason = sqlite3_errstr(code);
  return saved_errno == 0 ? reason : fmt::format("{}: {}", reason, std::strerror(saved_errno));
}

}  // namespace

base::Error Database::error(int code) const {
  std::string folder = std::filesystem::path(file_).parent_path().string();
  switch (code & 0xff) {
    case SQLITE_FULL:
      return {ErrorCode::kUnavailable, "cannot write the state in " + folder + ": the disk is full",
              "free space there; the controller continues by itself"};
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL:
      return {ErrorCode::kUnavailable, "another program has locked the database " + file_,
              "end the program that holds it (`fuser " + file_ + "`)"};
    case SQLITE_IOERR:
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_NOLFS:
      return {ErrorCode::kUnavailable, "cannot write the state in " + folder + ": " + system_reason(raw_.get(), code),
              "check space, quota, mount and permissions of that folder"};
    case SQLITE_NOMEM:
      return {ErrorCode::kUnavailable, "out of memory working on " + file_, ""};
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return damaged(file_, sqlite3_errmsg(raw_.get()));
    case SQLITE_TOOBIG:
      return {ErrorCode::kInvalid, "a value is larger than the database takes (1 GB)", ""};
    default:
      return {ErrorCode::kInternal, fmt::format("database {}: {}", file_, sqlite3_errmsg(raw_.get())), ""};
  }
}

}  // namespace gw::store
