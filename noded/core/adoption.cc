// See adoption.h.
#include "noded/core/adoption.h"

#include <string>

#include "model/job_state.h"
#include "noded/core/link.h"
#include "noded/core/node_allocation.h"
#include "noded/core/run_end.h"
#include "noded/core/run_start.h"
#include "noded/core/shepherds.h"

namespace gw::noded {

namespace {

// A launch that was under way when the daemon died: the launcher needs so long at most to fork.
constexpr base::Duration kAdoptLimit = base::seconds(3);

/// The daemon may have died between the record and the containment: then that is still to be set up, under the name
/// that it has here. A record of an earlier version does not say; setting it up again would fail if steps run in it.
void adopt_share(Core& core, Run& run) {
  run.stage = run.record.go() ? Stage::kStarted : Stage::kPrepared;
  if (run.is_stale) return release(core, run);
  if (!run.record.has_is_contained() || run.record.is_contained()) return;
  run.stage = Stage::kLaunching;
  run.record.mutable_containment()->set_group(job_group(core.config.node, run.key));
  core.out.add(PrepareShare{run.record});
}

/// Nobody answers for it: whatever is left of it is ended.
void end_orphan(Core& core, Run& run) {
  if (!run.exit && !run.is_stale) {
    run.exit.emplace().set_reason(static_cast<uint32_t>(model::EndReason::kShepherdDied));
    run.exit->set_detail(death_text(run, {}));
    run.exit->set_ended_us(core.now.us);
  }
  release(core, run);
}

/// Nothing of it has begun, and the prolog has ended with the daemon that ran it.
void end_in_prolog(Core& core, Run& run) {
  run.was_prepared = false;
  fail_start(core, run, model::EndReason::kNodeDown, "the node daemon ended while the prolog ran", true);
  finish(core, run);
}

void continue_epilog(Core& core, Run& run) {
  if (run.record.has_failure() && !run.is_stale) {
    run.was_prepared = false;
    run.exit = run.record.failure();
  }
  finish(core, run);
}

void adopt(Core& core, const RecoveredRun& found) {
  Run& run = core.runs.add(found.record);
  core.known_state.recover(found.record.placed_in());
  run.was_prepared = true;  // whether the controller was told is not known: BatchExited is right in either case
  run.exit = found.exit;
  run.is_stale = found.record.boot_id() != core.config.boot_id && !found.exit;
  if (run.is_stale) run.stop.is_asked = run.stop.kill_now = true;
  const std::string whose = run.is_stale ? "an earlier boot" : "an earlier daemon";
  core.out.say(Level::kInfo, "found run " + run.key.text() + " of " + whose);
  if (found.record.in_prolog()) return end_in_prolog(core, run);
  if (found.record.in_epilog() && !found.shepherd_answers) return continue_epilog(core, run);
  if (!found.shepherd_answers && !run.has_shepherd()) return adopt_share(core, run);
  run.stage = Stage::kAdopting;
  if (found.shepherd_answers) return;
  if (found.exit || found.has_step_dir || run.is_stale) return end_orphan(core, run);
  run.deadline = core.now + kAdoptLimit;
}

}  // namespace

void on_recovered(Core& core, const std::vector<RecoveredRun>& found) {
  core.leases.start(core.now);
  // Steps first: the end of a job's run waits for them.
  for (const bool is_step : {true, false})
    for (const RecoveredRun& run : found)
      if ((run.record.step() != 0) == is_step) adopt(core, run);
  connect_once_clean(core);
}

}  // namespace gw::noded
