// What `gangway top` knows of the cluster: the answers as they came, and how it may draw.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/time.h"
#include "wire/api.pb.h"

namespace gw::cmds::top {

struct Known {
  std::optional<wire::PingReply> ping;
  wire::ListJobsReply jobs;
  std::optional<std::string> jobs_of;  ///< The filter that chose them; null: no jobs were told yet.
  std::optional<wire::ListNodesReply> nodes;
  std::optional<wire::ListPartitionsReply> partitions;
  std::optional<wire::ShowSharesReply> shares;
  uint32_t use_of = 0;  ///< The job of which this is used:
  wire::StepUsageReply use;
  std::string trouble;         ///< Why nothing newer is known; empty: it is of now.
  base::Duration silent = {};  ///< So long a question has been without an answer.
  base::Duration ahead = {};   ///< Of the controller's clock to ours.
  uint64_t version = 0;        ///< Another one with each answer.
};

/// What was told, or nothing of it.
template <typename Reply>
const Reply& told(const std::optional<Reply>& reply) {
  static const Reply nothing;
  return reply ? *reply : nothing;
}

/// What the terminal can show.
struct Look {
  bool unicode = false;
  bool colour = false;
};

}  // namespace gw::cmds::top
