// The tables, and the steps that lead from each schema version to the next.
// Invariant: steps are never changed once released; a change of the schema is one more step at the end.
#pragma once

#include <span>
#include <string>

#include "base/result.h"
#include "store/sqlite_db.h"

namespace gw::store {

/// Leads a database to version `to` from the one before (0 is an empty file).
struct Migration {
  int to = 0;
  const char* sql = nullptr;
};

/// All steps, ascending without gaps; the last one's `to` is the present version.
std::span<const Migration> migrations();

/// Brings the database to the last of `steps`, all of it in one transaction. Returns "created", "migrated from version
/// 1 to 2", or "". Errors: a newer version, another program's database, disk full.
base::Result<std::string> migrate(Database& db, std::span<const Migration> steps);

}  // namespace gw::store
