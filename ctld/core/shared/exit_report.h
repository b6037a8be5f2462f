// What the report of a script's end means for its job.
#pragma once

#include <string>

#include "model/job.h"
#include "wire/node.pb.h"

namespace gw::ctld {

/// The outcome of a run whose end `node` reports. A lease that ran out is a failure of the node, not of the script.
model::Outcome outcome_of(const wire::BatchExited& report, const std::string& node, base::Time now);

/// "the lease of the run is over on n3: ..."
std::string lease_over_on(const std::string& node, const std::string& detail);

}  // namespace gw::ctld
