// What a waiting job still waits for of others: looked at when it is entered, changed or restored, and when one of
// those others starts or ends. Invariants: a condition that was met once stays so; what is left is stored with the job.
#pragma once

#include "ctld/core/core.h"

namespace gw::ctld {

/// What was asked becomes what the job waits for.
void begin_to_depend(const Core& core, model::Job& job);
/// A task that has just been made from a part of an array with these conditions: what it waits for itself (aftercorr).
void wait_for_corresponding(const Core& core, model::Job& task, const model::Dependency& of_part);
/// Takes away what is met by now, marks what never will be, and notes whom the job still waits for.
void look_at_dependencies(Core& core, model::Job& job);
/// When a condition is met by the time alone; never: none is.
Time next_dependency(const model::Job& job);

}  // namespace gw::ctld
