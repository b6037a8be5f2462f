// Old rows leave the database, a few at a time. The archive is a SQLite file with the tables `ended_jobs`, `events` and
// `audit`, whose columns are those of the database (docs/config.md, retention). Invariant: a row is deleted only after
// it is durable in the archive; after a crash between the two it is there once, since it is put there again.
#pragma once

#include "store/sqlite_db.h"
#include "store/store.h"

namespace gw::store {

/// See Store::retire(). `db` is the writer's connection, without an open transaction.
base::Result<uint64_t> retire(Database& db, const RetireOrder& order);

}  // namespace gw::store
