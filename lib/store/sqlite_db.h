// Thin owners of a SQLite connection and of prepared statements; how SQLite's result codes become errors.
// Invariants: every value reaches SQLite by binding, never by text; a Statement does not outlive its Database; text
// bound to a Statement must live until the next reset().
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace gw::store {

/// One prepared statement, run again and again.
class Statement {
 public:
  Statement() = default;
  explicit Statement(sqlite3_stmt* raw);

  /// Binds parameters ?1, ?2, ... in order; numbers as INTEGER, text as TEXT (NUL bytes and all).
  template <typename... Values>
  void bind(const Values&... values) {
    int index = 0;
    (bind_one(++index, values), ...);
  }
  void bind_one(int index, int64_t value);
  void bind_one(int index, uint64_t value) { bind_one(index, static_cast<int64_t>(value)); }
  void bind_one(int index, int32_t value) { bind_one(index, int64_t{value}); }
  void bind_one(int index, uint32_t value) { bind_one(index, int64_t{value}); }
  void bind_one(int index, std::string_view text);
  void bind_blob(int index, std::string_view bytes);

  /// SQLITE_ROW, SQLITE_DONE or an error code. A failed bind shows here too.
  int step();
  /// Runs a statement that gives no rows; the code of success is SQLITE_DONE. Resets it.
  int run();
  /// Ends the present run: gives back its locks and drops the bindings.
  void reset();

  /// A column of the row that `from` stands at, with its type.
  void bind_column(int index, const Statement& from, int column);

  int columns() const;
  std::string column_name(int column) const;
  int64_t integer(int column) const;
  /// TEXT or BLOB of any content.
  std::string bytes(int column) const;

 private:
  struct Finalizer {
    void operator()(sqlite3_stmt* raw) const;
  };
  std::unique_ptr<sqlite3_stmt, Finalizer> raw_;
  int bind_error_ = 0;
};

/// One connection to a database file.
class Database {
 public:
  enum class Mode { kReadWrite, kReadOnly };
  /// Opens an existing file; waits up to `busy_ms` for another program's lock. With the name of a SQLite VFS the file
  /// is there, and is made if it is missing.
  static base::Result<Database> open(const std::string& file, Mode mode, int busy_ms = 5000,
                                     const std::string& vfs = {});

  /// Runs statements without values: schema and pragmas.
  base::Status run(const char* sql);
  /// One number, such as that of a pragma. Error if the statement gives no row.
  base::Result<int64_t> number(const char* sql);
  base::Result<Statement> prepare(std::string_view sql);
  /// From now on a statement that runs asks `keep_going` every few hundred of its steps, and ends with
  /// SQLITE_INTERRUPT when that says no. Empty: never asked.
  void ask_while_running(const std::function<bool()>& keep_going);
  bool in_transaction() const;
  /// Rows changed by the last INSERT, UPDATE or DELETE.
  int changed() const;
  /// The error for a result code: disk full, I/O errors and locks are kUnavailable, a damaged file is kInternal; the
  /// text names the file's folder and the system's reason.
  base::Error error(int code) const;
  const std::string& file() const { return file_; }

 private:
  struct Closer {
    void operator()(sqlite3* raw) const;
  };
  std::unique_ptr<std::function<bool()>> keep_going_;  // outlives the connection, which refers to it
  std::unique_ptr<sqlite3, Closer> raw_;
  std::string file_;
};

/// What is said of a file that is no sound database.
base::Error damaged(const std::string& file, const std::string& why);

}  // namespace gw::store
