// Jobs as PBS and Grid Engine name them: "7.CLUSTER", "7[].CLUSTER" (an array), "7[3].CLUSTER" (a task of it); "7",
// "7.3" (a task, for qdel and the like of Grid Engine).
#pragma once

#include <string>
#include <string_view>

#include "cmds/queue/system.h"
#include "cmds/shared/job_ids.h"
#include "wire/api.pb.h"

namespace gw::cmds::queue {

/// "7[3].lab"; with `is_whole` an array's job is the array.
std::string shown_id(const wire::Job& job, const std::string& cluster);
/// "7[3].lab" of a task that has no job yet.
std::string shown_task(uint32_t array, std::string_view task, const std::string& cluster);

/// Adds the jobs that `text` names. The part behind the dot must be the cluster's name, with or without a domain, or
/// nothing. Errors: kNotFound: another server's; kInvalid: no id.
base::Status parse_pbs_id(std::string_view text, const std::string& cluster, JobIds& ids);
/// "7", "7.3", "7.1-5:2": as Grid Engine has it. Errors: no id.
base::Status parse_sge_id(std::string_view text, JobIds& ids);

}  // namespace gw::cmds::queue
