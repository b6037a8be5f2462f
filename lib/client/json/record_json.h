// Records as JSON, by Slurm's names where it has them. See client/show/show_json.h for what holds of all JSON.
#pragma once

#include <string>
#include <vector>

#include "client/records/record_rows.h"

namespace gw::client {

/// {"schema_version", "jobs": [{"job_id", ..., "steps": [...]}], "last_update"}: a job for each of its lines, the lines
/// of its script, allocation and steps within.
std::string records_json(const std::vector<RecordRow>& rows, const Records& records);

}  // namespace gw::client
