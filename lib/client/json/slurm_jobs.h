// Jobs as `squeue --json` and `scontrol show job --json` of 23.11 print them.
#pragma once

#include <string>
#include <vector>

#include "client/json/asked.h"
#include "client/show/job_view.h"

namespace gw::client::slurm {

/// {"jobs": [...], "last_backfill", "last_update", "meta", "errors", "warnings"}
std::string jobs(const std::vector<JobRow>& rows, base::Time now, const Asked& asked);

}  // namespace gw::client::slurm
