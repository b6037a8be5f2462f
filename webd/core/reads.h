// What each path of the API reads. Pure.
#pragma once

#include "webd/core/api.h"

namespace gw::webd {

/// `name`: what stands in the path where the pattern has a name.
using Make = base::Result<Question> (*)(const std::string& name, const Asked& asked);

base::Result<Question> list_jobs(const std::string& name, const Asked& asked);
base::Result<Question> show_job(const std::string& name, const Asked& asked);
base::Result<Question> why_job(const std::string& name, const Asked& asked);
base::Result<Question> list_nodes(const std::string& name, const Asked& asked);
base::Result<Question> show_node(const std::string& name, const Asked& asked);
base::Result<Question> list_partitions(const std::string& name, const Asked& asked);
base::Result<Question> list_reservations(const std::string& name, const Asked& asked);
base::Result<Question> list_quotas(const std::string& name, const Asked& asked);
base::Result<Question> show_shares(const std::string& name, const Asked& asked);
base::Result<Question> list_events(const std::string& name, const Asked& asked);
base::Result<Question> ping(const std::string& name, const Asked& asked);
base::Result<Question> show_cluster(const std::string& name, const Asked& asked);

/// The number of a job in a path or a parameter.
base::Result<uint32_t> job_number(const std::string& text);

}  // namespace gw::webd
