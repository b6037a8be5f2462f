// A consistent copy of a database that is in use.
// Invariant: `target` appears whole and synced, or not at all.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"

namespace gw::store {

/// Copies the database `source` to the new file `target` (absolute, mode 0600) through a connection of its own, so that
/// the writer continues meanwhile; the copy shows the database as it was at its begin. Returns the copy's size in
/// bytes. `keep_going`, if set, is asked now and then and ends the copy where it says no. Errors: relative path,
/// exists, not writable, disk full, given up.
base::Result<uint64_t> backup_database(const std::string& source, const std::string& target,
                                       const std::function<bool()>& keep_going = {});

}  // namespace gw::store
