// The rows of jobs, as the store gives them: which of them say something that can be, and why the others cannot be
// taken over. Pure. Invariants: jobs that are sound together hold nothing twice and have all rows that they need; the
// components of a job are sound together or not at all.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "ctld/core/rows/run_rows.h"
#include "ctld/core/settings.h"
#include "model/job.h"

namespace gw::ctld {

struct JobRows {
  std::map<base::JobId, model::Job> sound;
  std::map<base::JobId, std::string> faults;  ///< Why each of the others is not.
};

/// Of jobs without an end. `faults`: jobs that are known to be none before.
JobRows read_jobs(const store::Snapshot& snapshot, const RunRows& runs, const wire::NodeLookup& lookup,
                  const Settings& settings, std::map<base::JobId, std::string> faults);

/// Of a job that has ended. Errors: what cannot be read.
base::Result<model::Job> read_ended_job(const store::JobRow& row, const wire::NodeLookup& lookup,
                                        const Settings& settings);

}  // namespace gw::ctld
