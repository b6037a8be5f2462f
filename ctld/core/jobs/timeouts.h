// What becomes of a job whose time limit, warning or start time-out is due.
#pragma once

#include "ctld/core/core.h"

namespace gw::ctld {

/// A run that has reached its time limit ends; one whose limit was raised continues.
void job_limit_due(Core& core, model::Job& job);
/// The run is signalled before its time limit (--signal).
void job_warn_due(Core& core, model::Job& job);
/// A gang that is not prepared by now gives its nodes back; those that were late are to blame.
void start_timeout_due(Core& core, model::Job& job);

}  // namespace gw::ctld
