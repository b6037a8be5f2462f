// What `gangway why` prints: the pure part. Invariant: no byte that a user wrote reaches a terminal as a command to it.
#pragma once

#include <string>

#include "wire/api.pb.h"

namespace gw::client {

/// All that is known of one job.
struct WhyAnswer {
  wire::WhyJobReply why;
  wire::ShowJobReply shown;  ///< With its history; empty while it waits.
  wire::JobLabel label;      ///< Of a job that runs, as far as it has one.
};

/// Of a job that waits: when it starts, what is in its way, who is ahead, what would help. Of one that runs or has
/// ended: where and since when, how it stands to the quotas, and its history.
std::string why_text(const WhyAnswer& answer);
/// {"schema_version", "job_id", "state", "reason", "outlook", "blockers", "ahead", "offers", ...}
std::string why_json(const WhyAnswer& answer);

/// "ask for 6 GPUs per node"
std::string change_words(const wire::UpdateJobRequest& change);
/// "gcontrol update JobId=7 Gres=gpu:6": makes that change. `job`: keeps the generic resources that the words would
/// drop.
std::string change_command(const wire::UpdateJobRequest& change, const wire::Job& job);

}  // namespace gw::client
