// Jobs as `squeue --json` and `scontrol show job --json` of 23.11 print them.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "client/json/asked.h"
#include "client/show/job_view.h"

namespace gw::client::slurm {

/// {"jobs": [...], "last_backfill", "last_update", "meta", "errors", "warnings"}
/// The jobs go to `out` as they are made; false: it takes no more.
bool jobs(const std::vector<JobRow>& rows, base::Time now, const Asked& asked,
          const std::function<bool(std::string_view)>& out);

}  // namespace gw::client::slurm
