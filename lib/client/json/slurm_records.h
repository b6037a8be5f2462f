// Accounting as `sacct --json` of 23.11 prints it.
#pragma once

#include <string>
#include <vector>

#include "client/json/asked.h"
#include "client/records/record_rows.h"

namespace gw::client::slurm {

/// {"jobs": [...], "meta", "errors", "warnings"}; a job with its steps for each of its rows.
std::string records(const std::vector<RecordRow>& rows, const Asked& asked);

}  // namespace gw::client::slurm
