// What both schemas of accounting's JSON have alike: what a record had, and times of processors.
#pragma once

#include <cstdint>

#include "client/json/slurm_parts.h"
#include "client/records/record_rows.h"

namespace gw::client {

/// [{"type": "cpu", "name": "", "id": 1, "count": 4}, ...]; memory in MiB. What it has none of is left out.
slurm::Json tres_json(const RecordSize& size);
slurm::Json seconds_and_micros(uint64_t us);

}  // namespace gw::client
