// What follows for a run from what its job has told of its progress (model/progress.h). Invariants: a run whose end is
// known is bound by it from its start on, whether or not it tells anything; what orders are told of a job that has left
// its place is no less than what they were told while it ran, or two jobs would take places from each other.
#pragma once

#include "base/time.h"
#include "model/job.h"

namespace gw::ctld {

/// Is it held to what it tells of its end? Not an elastic gang: how long that takes depends on the size that it is
/// given.
bool binds(const model::JobSpec& spec);
/// The run begins: what is known of it from earlier ones binds it.
void begin_progress(model::Job& job, base::Time now);
/// The earliest end that it told in this run binds it: who tells a later one has still told the first.
void keep_promise(model::Job& job, base::Time now);
/// It was suspended for so long, or was told to go so long ago: none of that counts.
void leave_out(model::Progress& progress, base::Duration pause);
/// Of a run that ended then, so long it no longer worked: since it was suspended, or told to go.
base::Duration idle_before(const model::Placed& placed, base::Time ended);
/// The run is over, and may be repeated: from where its work was saved last, and in what is left of the time that was
/// promised, so that nobody gets a promise anew by requeueing his job. Who was preempted is allowed for another start.
void end_progress(model::Progress& progress, base::Time ended, bool was_preempted);

}  // namespace gw::ctld
