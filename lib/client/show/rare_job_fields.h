// The fields of squeue -O that exist for programs that print them all.
#pragma once

#include <vector>

#include "client/show/format.h"
#include "client/show/job_view.h"

namespace gw::client {

/// Adds them behind those that people read.
void add_rare_job_fields(std::vector<Field<JobRow>>& table);

}  // namespace gw::client
