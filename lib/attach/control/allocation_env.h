// The variables by which a command tells the programs that it starts of an allocation: Slurm's, under both prefixes.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "wire/job.pb.h"

namespace gw::attach {

using Variables = std::vector<std::pair<std::string, std::string>>;

/// Of a job that runs. `cluster` may be empty.
Variables allocation_variables(const wire::Job& job, const std::string& cluster, const std::string& submit_dir);

/// Of the components of one that has several, beside allocation_variables() of the first.
Variables component_variables(const std::vector<wire::Job>& components);

}  // namespace gw::attach
