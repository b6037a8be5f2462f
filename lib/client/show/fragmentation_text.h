// What `ginfo --fragmentation` prints.
#pragma once

#include <string>

#include "wire/api.pb.h"

namespace gw::client {

/// A line for each partition with GPUs, and one for each of its types of GPUs where it has several.
std::string fragmentation_table(const wire::ListPartitionsReply& list, bool with_heading);
/// {"schema_version", "fragmentation": [...], "last_update"}
std::string fragmentation_json(const wire::ListPartitionsReply& list);

}  // namespace gw::client
