// See transition.h.
#include "ctld/core/jobs/transition.h"

#include <fmt/format.h>

namespace gw::ctld {

bool advance(Core& core, model::Job& job, model::JobEvent event) {
  const bool was_waiting = job.state == model::JobState::kPending;
  if (core.jobs.advance(job, event)) {
    if (was_waiting && job.state != model::JobState::kPending) {
      job.waited += core.planning.waits.leave(job.id, core.now);
      job.waited.shrink();
    }
    if (event == model::JobEvent::kPlace) {
      ++core.counts.started;
      ++core.totals.started;
    }
    if (model::is_end(job.state)) {
      ++core.totals.ended[static_cast<size_t>(job.state)];
      core.counts.count_end(job.state);
      core.post(JobEnded{job.id});
    }
    return true;
  }
  core.out.note(fmt::format("job {}: event {} does not fit state {}", job.id.value, model::name(event),
                            model::long_name(job.state)),
                true);
  return false;
}

}  // namespace gw::ctld
