// Jobs that wait for others are looked at again when one of those has started or ended: some of them in the transaction
// where that happened, the rest soon after, so that no job holds up the controller by how many wait for it.
#pragma once

#include "ctld/core/core.h"

namespace gw::ctld {

/// Notes who is to be looked at again, now that this job has started or ended.
void job_moved(Core& core, JobId job);
/// A job of that user bears this name no longer.
void name_was_given_up(Core& core, uint32_t uid, const std::string& name);
/// Looks at the first of those. Returns what that took, in conditions; 0: there is none.
size_t look_at_one_dependent(Core& core);
/// For those that are left over: a timer.
void look_at_dependents_later(Core& core);

}  // namespace gw::ctld
