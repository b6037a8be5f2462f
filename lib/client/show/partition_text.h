// What holds in a partition, key by key, and where each value comes from: gcontrol show partition --effective.
#pragma once

#include <string>

#include "base/result.h"
#include "wire/api.pb.h"

namespace gw::client {

/// The reply to a request with `effective`, as people read it. Errors: partitions that this program does not
/// understand.
base::Result<std::string> effective_text(const wire::ListPartitionsReply& reply);
base::Result<std::string> effective_json(const wire::ListPartitionsReply& reply);

}  // namespace gw::client
