// Nodes and partitions as `scontrol show node --json` and `scontrol show partition --json` of 23.11 print them.
#pragma once

#include <string>
#include <vector>

#include "client/json/asked.h"
#include "client/show/info_fields.h"
#include "wire/api.pb.h"

namespace gw::client::slurm {

/// {"nodes": [...], "last_update", "meta", "errors", "warnings"}
std::string nodes(const wire::ListNodesReply& list, const Asked& asked);
/// {"partitions": [...], "last_update", "meta", "errors", "warnings"}
std::string partitions(const wire::ListPartitionsReply& list, const Asked& asked);

/// {"sinfo": [...], "meta", "errors", "warnings"}: nodes that are alike, partition by partition.
std::string summary(const std::vector<InfoRow>& rows, const Asked& asked);

}  // namespace gw::client::slurm
