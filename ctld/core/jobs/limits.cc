// See limits.h.
#include "ctld/core/jobs/limits.h"

#include "ctld/core/jobs/mails.h"

namespace gw::ctld {

using model::Job;

void arm_limits(Core& core, const Job& job) {
  arm_mail(core, job);
  const Time end = job.placed()->running_since() + job.spec.time_limit;
  if (end == Time::never()) return;
  core.timers.set({end, TimerKind::kJobLimit, job.id.value, job.attempt});
  if (job.spec.warn.signo != 0 && !job.placed()->warned)
    core.timers.set(
        {end - base::seconds(job.spec.warn.seconds_before), TimerKind::kJobWarn, job.id.value, job.attempt});
}

void expect_end(Core& core, const Job& job, Time when, bool is_leaving) {
  const auto& suspension = job.placed()->suspension;
  const JobId holder = suspension && suspension->kept_id ? suspension->kept_id : job.id;
  core.ledger.expect_end(holder, when, is_leaving);
  for (const auto& [node, extension] : job.placed()->extensions)
    if (!extension.until) core.ledger.expect_end(extension.id, when, is_leaving);
}

}  // namespace gw::ctld
