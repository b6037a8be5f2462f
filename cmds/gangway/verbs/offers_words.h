// What `gangway offers` prints. Pure.
#pragma once

#include <string>

#include "wire/api.pb.h"

namespace gw::cmds {

/// A line for each offer, and how much of them the QOS can have.
std::string offers_text(const wire::ListOffersReply& told);
/// {"schema_version", "qos", "gpus_guaranteed", "gpus_most", "left_out", "offers": [{"id", ...}]}, in one line.
std::string offers_json(const wire::ListOffersReply& told);

}  // namespace gw::cmds
