// See controller.h.
#include "noded/core/controller.h"

#include "noded/core/job_steps.h"
#include "noded/core/leases.h"
#include "noded/core/orders.h"
#include "noded/core/programs.h"
#include "noded/core/registration.h"
#include "noded/core/suspension.h"
#include "noded/core/usage.h"

namespace gw::noded {

namespace {

/// Which state the controller works from.
void hear_state(Core& core, const wire::ControllerToNode& message) {
  const bool must_keep = core.known_state.hear(core.now, message);
  if (message.has_registered() && message.registered().is_behind()) {
    core.out.say(Level::kWarn, "the controller's state is another one, or older than what this node knows");
    core.graves.clear();
  }
  if (must_keep) core.out.add(KeepMark{core.known_state.seen()});
}

}  // namespace

void on_controller(Core& core, const wire::ControllerToNode& message) {
  if (!core.link.is_open()) return;
  core.link.heard(core.now);
  if (message.has_registered() || core.link.is_registered()) hear_state(core, message);
  if (message.has_registered()) on_registered(core, message.registered());
  if (message.has_refused()) on_refused(core, message.refused());
  if (!core.link.is_registered()) return;
  hear_contact(core, message);
  if (message.has_prepare()) on_prepare(core, message.prepare());
  if (message.has_start_step()) on_start_step(core, message.start_step());
  if (message.has_go()) on_go(core, message.go());
  if (message.has_stop()) on_stop(core, message.stop());
  if (message.has_signal()) on_signal(core, message.signal());
  if (message.has_notice()) on_notice(core, message.notice());
  if (message.has_resize()) on_resize(core, message.resize());
  if (message.has_suspend()) on_suspend(core, message.suspend());
  if (message.has_resume()) on_resume(core, message.resume());
  if (message.has_unfit_heard()) on_unfit_heard(core, message.unfit_heard());
  if (message.has_ack()) on_ack(core, message.ack());
  if (message.has_usage_query()) on_usage_query(core, message.usage_query());
}

}  // namespace gw::noded
