// The SQLite store with the limits that tests set; everybody else calls open_sqlite().
#pragma once

#include <string>

#include "store/store.h"

namespace gw::store {

struct SqliteOptions {
  int64_t max_pages = 0;                  ///< The database is "full" beyond that; 0: no limit of its own.
  int busy_ms = 5000;                     ///< Longest wait for another program's lock, on the folder or the database.
  int64_t check_up_to_bytes = 1LL << 30;  ///< Larger files are opened without an integrity check.
  /// Name of the SQLite VFS that holds the database, which makes it where it is missing: a disk of a test. Then the
  /// folder is a name within it: nobody looks at its owner, locks or syncs it. Backups, archives and readers know only
  /// the system's files. Empty: the system's.
  std::string vfs = {};
};

/// Name of the database within the state folder.
inline constexpr char kDatabaseName[] = "gangway.db";

base::Result<Opened> open_sqlite(const std::string& dir, const SqliteOptions& options);

}  // namespace gw::store
