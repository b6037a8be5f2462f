// What follows for a run from what its job has told of its progress (model/progress.h). Invariants: a run whose end is
// known is bound by it from its start on, whether or not it tells anything; what orders are told of a job that has left
// its place is no less than what they were told while it ran, or two jobs would take places from each other.
#pragma once

#include "base/time.h"
#include "model/job.h"

namespace gw::ctld {

/// The run begins: what is known of it from earlier ones binds it.
void begin_progress(model::Job& job, base::Time now);
/// The earliest end that it told in this run binds it: who tells a later one has still told the first.
void keep_promise(model::Job& job, base::Time now);
/// The run is over, and may be repeated: from where its work was saved last, and in what is left of the time that was
/// promised, so that nobody gets a promise anew by requeueing his job. Who was preempted is allowed for another start.
void end_progress(model::Progress& progress, base::Time ended, bool was_preempted);

}  // namespace gw::ctld
