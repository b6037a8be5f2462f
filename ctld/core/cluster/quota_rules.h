// What the tree of quotas says to one job: which QOS it runs at, who may submit there, how long and how many.
#pragma once

#include "ctld/core/core.h"

namespace gw::ctld {

/// Is there a QOS of this name, the root and the default one included?
bool has_qos(const Core& core, const std::string& name);
/// An account is a second name of a QOS; an explicit QOS wins.
/// An account is another name of a QOS that the caller may use, unless accounts are not enforced. Empty: nothing is
/// checked.
base::Status check_account(const Core& core, const Caller& caller, const std::string& account);
/// Does it decide at which QOS a job runs that names none? A label does not.
bool selects_qos(const Core& core, const std::string& account);
base::Status check_qos(const Core& core, const Caller& caller, model::JobSpec& spec);
/// The longest time limit that the QOS and those above it allow.
base::Duration max_wall_of(const Core& core, const std::string& qos);
/// max_wall, and for `more` new jobs max_submit.
base::Status check_caps(const Core& core, const model::JobSpec& spec, size_t more);

}  // namespace gw::ctld
