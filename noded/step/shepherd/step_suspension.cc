// The suspension of a step that runs.
#include "noded/step/shepherd/step_suspension.h"

#include <signal.h>

#include "noded/step/proc/step_clock.h"
#include "noded/step/shepherd/step_notes.h"
#include "noded/step/state/step_folder.h"

namespace gw::noded::step {

void StepSuspension::suspend(const wire::StepSuspend& request) {
  if (request.round() < round_) return;
  round_ = request.round();
  if (const auto* suspended = state_.in<Suspended>(); suspended != nullptr && suspended->problem.empty())
    return freeze();  // says so again
  announcements_.withdraw_suspended();
  const std::optional<wire::Stop> order = tell_order(spec_, request.grace_us(), "suspend");
  remove_order(spec_.dir());
  const std::optional<int> signo = signal_of(order);
  if (!signo || request.grace_us() <= 0) return freeze();
  if (!state_.is<Suspending>()) processes_.signal(*signo);
  const int64_t freeze_at = monotonic_us() + request.grace_us();
  if (state_.is<Going>()) state_.go<Going, Suspending>(freeze_at);
  if (state_.is<Suspended>()) state_.go<Suspended, Suspending>(freeze_at);
  state_.in<Suspending>()->freeze_at = freeze_at;
}

void StepSuspension::freeze() {
  const base::Status frozen = processes_.freeze();
  wire::StepSuspended said;
  said.set_round(round_);
  if (!frozen) said.set_problem(frozen.error().text());
  if (state_.is<Going>())
    state_.go<Going, Suspended>(said.problem());
  else if (state_.is<Suspending>())
    state_.go<Suspending, Suspended>(said.problem());
  else
    state_.go<Suspended, Suspended>(said.problem());
  announcements_.say_suspended(said);
}

void StepSuspension::resume(const wire::StepResume& request) {
  if (request.round() < round_) return;
  round_ = request.round();
  if (state_.is<Going>()) return;
  if (state_.is<Suspending>())
    state_.go<Suspending, Going>();
  else
    state_.go<Suspended, Going>();
  announcements_.withdraw_suspended();
  remove_preempt_file(spec_.dir());
  if (const base::Status thawed = processes_.thaw(); !thawed)
    log_note(spec_, "cannot be thawed: " + thawed.error().text());
  processes_.signal(SIGCONT);  // for those who stopped themselves when they were told
}

int64_t StepSuspension::freeze_at() const {
  const auto* suspending = state_.in<Suspending>();
  return suspending == nullptr ? 0 : suspending->freeze_at;
}

void StepSuspension::on_timer(int64_t now) {
  if (state_.is<Suspending>() && now >= freeze_at()) freeze();
}

}  // namespace gw::noded::step
