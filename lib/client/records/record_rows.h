// What accounting shows, as lines: a job, its batch script, the allocation around it ("extern"), and its steps, of the
// last run or of all. Each line is worked out once here, so that fields, JSON and sums say the same.
// Invariants: lines come by job id, then run, then step; a job is there once, as it was told last; every line leads
// into the answer that it was made from, which must stay.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "model/job.h"
#include "wire/api.pb.h"

namespace gw::client {

enum class RecordKind : uint8_t { kJob, kBatch, kExtern, kStep };

/// How much of the cluster it has or had, or asked for.
struct RecordSize {
  uint32_t nodes = 0, tasks = 0, cpus = 0, gpus = 0;
  uint64_t mem_mb = 0;
};

struct RecordRow {
  const wire::Job* job = nullptr;          ///< Without shares.
  const wire::PastRun* run = nullptr;      ///< Of a step, or of a job's earlier run; else null.
  const wire::Outcome* outcome = nullptr;  ///< Of the job's run, where it is known.
  RecordKind kind = RecordKind::kJob;
  std::string id;      ///< "7", "7.0", "7.batch"; of a component "7+1.0".
  std::string raw_id;  ///< With the component's own id.
  std::string state;   ///< "COMPLETED", "CANCELLED by 1001", "REQUEUED"
  std::string partition, nodes;
  base::Time eligible, started, ended;  ///< Zero: not yet.
  base::Duration elapsed;
  base::Duration suspended;
  model::ExitStatus exit;
  model::ExitStatus derived_exit;
  bool has_size = false;  ///< It had what `size` says; else it asks for it.
  RecordSize size;
  /// Of a script or a step what it used; of a job the sum of these, without their spreads. Null: nothing is known.
  std::shared_ptr<const model::RunUse> use;
};

/// The answer, and the jobs in it without copies of what they ask for.
class Records {
 public:
  explicit Records(wire::ListRecordsReply reply);
  Records(const Records&) = delete;
  Records& operator=(const Records&) = delete;

  /// `jobs_alone`: without scripts and steps. `all_runs`: also of those before the last.
  std::vector<RecordRow> rows(bool jobs_alone, bool all_runs) const;
  base::Time now() const { return {reply_.now_us()}; }
  const std::string& cluster() const { return reply_.cluster(); }

 private:
  wire::ListRecordsReply reply_;
  struct Entry {
    wire::Job job;
    const wire::JobRecord* record = nullptr;
  };
  std::vector<std::unique_ptr<Entry>> entries_;  // by id

  /// `past`: an earlier run; null: the job as it is.
  void add_run(const Entry& entry, const wire::PastRun* past, bool jobs_alone, std::vector<RecordRow>& rows) const;
  RecordRow job_row(const Entry& entry) const;
  static RecordRow past_row(const Entry& entry, const wire::PastRun& run);
  RecordRow step_row(const RecordRow& job, const wire::PastRun& run) const;
};

}  // namespace gw::client
