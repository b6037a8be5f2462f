// See ticks.h.
#include "noded/core/ticks.h"

#include <algorithm>
#include <string>

#include "model/job_state.h"
#include "noded/core/leases.h"
#include "noded/core/link.h"
#include "noded/core/places.h"
#include "noded/core/reports.h"
#include "noded/core/run_end.h"
#include "noded/core/run_start.h"
#include "noded/core/shepherds.h"

namespace gw::noded {

namespace {

constexpr base::Duration kLookAgain = base::seconds(30);

void check_deadline(Core& core, Run& run) {
  if (core.now < run.deadline) return;
  run.deadline = base::Time::never();
  if (run.stage == Stage::kAdopting) {
    // The shepherd was not even forked when the earlier daemon died, or died with it.
    lose_shepherd(core, run, {});
  } else if (run.stage == Stage::kQueued && core.runs.runs_program(run.key.job)) {
    run.deadline = core.now + kLookAgain;  // it has a limit of its own
  } else if (run.stage == Stage::kQueued) {
    const std::string why =
        "an earlier run of job " + std::to_string(run.key.job) + " is still being ended on " + core.config.node.name;
    fail_start(core, run, model::EndReason::kLaunchFailed, why, true);
    finish(core, run);
  }
}

}  // namespace

void on_tick(Core& core) {
  tend_link(core);
  for (const RunKey& key : core.runs.keys()) {
    if (Run* run = core.runs.find(key)) check_lease(core, *run);
    if (Run* run = core.runs.find(key)) check_deadline(core, *run);
    if (Run* run = core.runs.find(key); run && core.now >= next_report(*run)) repeat_end(core, *run);
  }
  tell_places(core);
}

base::Time next_wakeup(const Core& core) {
  base::Time next = std::min(core.link.next_due(), core.places.next_due());
  for (const auto& [key, run] : core.runs.all()) {
    next = std::min(next, run.deadline);
    if (core.link.is_registered()) next = std::min(next, next_report(run));
  }
  return next;
}

}  // namespace gw::noded
