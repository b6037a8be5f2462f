// What --json prints. Invariant: `schema_version` grows only when a field goes or changes its meaning; fields may be
// added.
#pragma once

#include <functional>
#include <string>

#include "client/show/job_labels.h"

namespace gw::client {

constexpr int kSchemaVersion = 1;

/// {"schema_version", "jobs": [...], "last_update"}: names of Slurm's JSON where it has them; job_state is a list.
std::string jobs_json(const google::protobuf::RepeatedPtrField<wire::Job>& jobs, int64_t now_us,
                      const JobLabels& labels = {});
/// What one job asks for, as an object: the keys of jobs_json() that a submission has.
std::string spec_json(const wire::JobSpec& spec);
/// One job with its history, if there is any.
std::string job_json(const wire::ShowJobReply& reply, const JobLabels& labels = {});
std::string nodes_json(const wire::ListNodesReply& reply);
std::string partitions_json(const wire::ListPartitionsReply& reply);
/// Nodes and partitions together, as ginfo shows them.
std::string info_json(const wire::ListNodesReply& nodes, const wire::ListPartitionsReply& partitions);
std::string config_json(const wire::ShowConfigReply& reply);
/// What happened, oldest first. `user_of`: who did it, by name; uid is null where it was the controller.
std::string events_json(const wire::ListEventsReply& reply,
                        const std::function<std::string(const wire::HistoryEvent&)>& user_of);
std::string ping_json(const wire::PingReply& reply);

}  // namespace gw::client
