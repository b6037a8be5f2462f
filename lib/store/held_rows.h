// Rows that cannot be read: out of their tables into held_aside and held_values. Invariants: what a row held is kept
// value by value, each with its type and bytes; a row is in its own table or here, never in both or neither.
#pragma once

#include <vector>

#include "base/result.h"
#include "store/rows.h"
#include "store/sqlite_db.h"

namespace gw::store {

/// The operations of rows.h, in the open transaction. Errors: as Database::error.
base::Status hold_aside(Database& db, const HoldAside& op);
base::Status put_held(Database& db, const HeldRow& row);
base::Status drop_held(Database& db, const DropHeld& op);

/// Holds all rows aside whose numbers are none, or out of the range of what they stand for: they would be taken for
/// other rows. One transaction of its own. `since` stays zero: whoever reads them next knows what time it is.
base::Status hold_unfit(Database& db);

/// All of them, by kind and name.
base::Result<std::vector<HeldRow>> read_held(Database& db);
/// The highest id of a job that stands anywhere, rows that are held aside left out. Zero: there is none.
base::Result<base::JobId> last_job_named(Database& db);

}  // namespace gw::store
