// See leases.h.
#include "noded/core/leases.h"

#include <algorithm>
#include <string>
#include <utility>

#include "model/job_state.h"
#include "noded/core/run_end.h"

namespace gw::noded {

void hear_contact(Core& core, const wire::ControllerToNode& message) {
  if (!core.leases.hear(message)) return;
  if (!core.leases.take_renewal(core.now, core.link.heartbeat())) return;
  for (const auto& [key, run] : core.runs.all()) {
    if (run.record.lease_us() <= 0 || !run.is_connected || !run.is_live()) continue;
    wire::ToShepherd renewal;
    renewal.mutable_query()->set_age_us(core.leases.age().us);
    renewal.mutable_query()->set_heard_boot_us(core.leases.last_contact().us);
    core.out.tell_shepherd(run, std::move(renewal));
  }
}

void check_lease(Core& core, Run& run) {
  if (core.leases.now() < core.leases.end_of(run)) return;
  core.out.say(Level::kWarn, "lease of run " + run.key.text() + " has expired: ending it");
  run.done.set_lease_expired(true);
  for (const RunKey& step : core.runs.live_steps(run.key))
    core.runs.find(step)->done.set_lease_expired(true);  // they end with it
  stop(core, run, 0, true);
}

base::BootTime next_lease_end(const Core& core) {
  base::BootTime next = base::BootTime::never();
  for (const auto& [key, run] : core.runs.all()) next = std::min(next, core.leases.end_of(run));
  return next;
}

void name_lease(const Run& run, wire::StepExit& exit) {
  const bool was_killed = exit.reason() == 0 && (exit.signo() != 0 || exit.code() != 0);
  if (!run.done.lease_expired() || !was_killed) return;
  exit.set_reason(static_cast<uint32_t>(model::EndReason::kLeaseExpired));
  exit.set_detail("the node heard nothing from the controller for " +
                  std::to_string(run.record.lease_us() / 1'000'000) + " s");
}

}  // namespace gw::noded
