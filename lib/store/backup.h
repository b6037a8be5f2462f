// A consistent copy of a database that is in use.
// Invariant: `target` appears whole and synced, or not at all.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace gw::store {

/// Copies the database `source` to the new file `target` (absolute, mode 0600) through a connection of its own, so that
/// the writer goes on meanwhile. Returns the copy's size in bytes. Errors: relative path, exists, not writable, disk
/// full.
base::Result<uint64_t> backup_database(const std::string& source, const std::string& target);

}  // namespace gw::store
