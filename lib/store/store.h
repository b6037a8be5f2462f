// Durable state: the Store interface and its SQLite form (WAL, synchronous=FULL, one writer, separate readers).
// Invariants: when commit() returns success the batch survives power loss; when it fails nothing of it was written and
// the same batch may be tried again; a Store is used by one thread at a time, a Reader likewise.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/rows.h"

namespace gw::store {

/// Reads committed state; never blocks the writer. Read transactions are short.
class Reader {
 public:
  virtual ~Reader() = default;
  /// The events that the filter selects, oldest first.
  virtual base::Result<std::vector<EventRow>> events(const EventFilter& filter) = 0;
  /// The lines that the filter selects, oldest first.
  virtual base::Result<std::vector<AuditRow>> audit(const AuditFilter& filter) = 0;
  /// An ended job that is no longer in memory. Error kNotFound.
  virtual base::Result<JobRow> ended_job(base::JobId id) = 0;
  virtual base::Result<std::string> blob(const std::string& hash) = 0;
};

/// What is old enough to leave the database.
struct RetireOrder {
  base::Time jobs_before;        ///< Jobs that ended before; zero: none.
  base::Time events_before;      ///< Lines of history from before; zero: none.
  std::string archive;           ///< File (absolute path) that gets them first; empty: they are deleted.
  size_t most = 500;             ///< Rows of each kind at once.
  base::Time audit_before = {};  ///< Lines of the audit from before; zero: none.
};

/// The one writer.
class Store {
 public:
  virtual ~Store() = default;
  /// Applies all batches in one transaction and syncs it. Error kUnavailable: disk full, I/O error, locked.
  virtual base::Status commit(std::span<const Batch> batches) = 0;
  /// All that is needed to continue; ended jobs only from `ended_since` on.
  virtual base::Result<Snapshot> load(base::Time ended_since) = 0;
  /// Writes a consistent copy of a running store to a new file (absolute path) and returns its size in bytes. May be
  /// called from another thread while commit() runs, which does not wait for it. `keep_going`, if set, is asked now and
  /// then; where it says no the backup is given up. Errors: exists, not writable, disk full, given up.
  virtual base::Result<uint64_t> backup(const std::string& path, const std::function<bool()>& keep_going) = 0;
  /// Moves some of what is old enough to the archive, which is durable before anything is deleted, or deletes it. Says
  /// how many rows went; as many as were allowed means that there may be more. Errors: the archive, or the database,
  /// cannot be written; nothing is lost then.
  virtual base::Result<uint64_t> retire(const RetireOrder& /*order*/) { return 0; }
};

struct Opened {
  std::unique_ptr<Store> store;
  std::string note;  ///< "created", "migrated from version 1 to 2", or empty.
};

/// Opens or creates `dir`/gangway.db: checks ownership and mode of the folder (not writable for others), schema version
/// (migrates older ones, refuses newer ones with a remedy) and integrity (refuses a damaged file with a remedy).
base::Result<Opened> open_sqlite(const std::string& dir);
/// A reader of the same database; the store must have been opened before.
base::Result<std::unique_ptr<Reader>> open_reader(const std::string& dir);

}  // namespace gw::store
