// Reading what accounting shows: jobs that have ended or not, with their steps and earlier runs, page by page.
// Invariants: each page is of one moment, so that no record is half of before and half of after a change; over all
// pages a job that is there all the time comes at least once, and what comes later of it is newer; a page looks at a
// bounded number of rows that its indices do not rule out.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "store/rows.h"

namespace gw::store {

/// Which rows are looked at. Of ended jobs only those that ended at or after `since` and were submitted by `until`.
struct RecordQuery {
  enum class By : uint8_t { kTime, kUser, kAccount, kQos, kPartition };

  /// Of an array: these tasks of it, in order; none: all, and what stands for several.
  struct OfArray {
    base::JobId array;
    std::vector<std::pair<uint32_t, uint32_t>> tasks;  ///< From, to.
  };

  std::vector<base::JobId> ids;    ///< These alone, if there are some, whenever they were; in their order.
  std::vector<OfArray> arrays;     ///< And other jobs of these, likewise.
  By by = By::kTime;               ///< The column whose index is used,
  std::vector<std::string> names;  ///< and its values, each once; none by time.
  base::Time since, until;
  bool with_parts = true;  ///< Also steps and earlier runs.
  bool with_spec = true;   ///< Else the rows of ended jobs come without.
};

/// A job with what belongs to it.
struct JobParts {
  JobRow job;
  std::vector<PutStep> steps;        ///< Those that run, by number.
  std::vector<PutRunNode> on_nodes;  ///< Of these steps, by step and node.
  std::vector<PutPastRun> past;      ///< By attempt and step.
  PutArray array = {};               ///< Of an array, or of a part of one, that waits: its row.
};

/// Where a query goes on; as made it is the beginning.
struct RecordPlace {
  size_t next_id = 0;  ///< Of the ids.
  size_t next_array = 0, next_range = 0;
  int64_t task = -2;    ///< In that array, the last that was looked at,
  base::JobId of_task;  ///< and its job.
  base::JobId live;     ///< Among those that have not ended, the last that was looked at.
  bool is_live_over = false;
  size_t name = 0;       ///< Of the names.
  base::Time ended;      ///< Among the ended ones of that name, when the last one that was looked at ended,
  base::JobId at_ended;  ///< and which it was.
};

struct RecordPage {
  std::vector<JobParts> jobs;
  RecordPlace next;
  bool is_last = false;
};

/// A connection of its own; used by one thread at a time.
class RecordReader {
 public:
  virtual ~RecordReader() = default;
  /// The next page. `wants`: does a row that was looked at belong to it? Errors: as Database::error.
  virtual base::Result<RecordPage> read(const RecordQuery& query, const RecordPlace& from,
                                        const std::function<bool(const JobRow&)>& wants) = 0;
};

/// Of the database in `dir`, which a store must have opened before.
base::Result<std::unique_ptr<RecordReader>> open_records(const std::string& dir);

}  // namespace gw::store
