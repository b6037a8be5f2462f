// What a request changes in one QOS, and how a change is told.
// Invariant: pure; whatever is taken here can be written to a file of quotas and read again.
#pragma once

#include <string>

#include "base/result.h"
#include "model/qos.h"
#include "wire/api.pb.h"

namespace gw::ctld {

/// Is it a name that an account of the system can have? Error: kInvalid.
base::Status check_user_name(const std::string& name);
/// The name as users write it: the root has one too.
std::string root_or(const std::string& name);

/// "weight 1 -> 3; limit none -> gpu:16": what is written in a QOS, said as it is written; empty if nothing differs.
std::string differences(const model::Qos& before, const model::Qos& after);

/// Applies what the patch has. Errors: unknown resources, amounts, numbers and times out of range, bad names.
base::Status patch_qos(model::Qos& q, const wire::QosPatch& p);

}  // namespace gw::ctld
