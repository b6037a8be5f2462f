// Ending, departing, being done.
#include "attach/step/step_farewell.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>

namespace gw::attach {

bool StepFarewell::has_departed() const {
  const Done* done = state_.in<Done>();
  return state_.is<Departing>() || (done != nullptr && done->has_left);
}

bool StepFarewell::is_too_early() const {
  const Departing* departing = state_.in<Departing>();
  return departing != nullptr && departing->is_too_early;
}

void StepFarewell::end_others_after(base::Duration wait) {
  Attending* attending = state_.in<Attending>();
  if (attending == nullptr) return;
  attending->first_exit_timer = loop_.after(wait, [this, wait] {
    reports_.say(false, fmt::format("the first task ended {} s ago: ending the others", wait.seconds()));
    for (const std::string& line : reports_.tasks().state_lines(options_.step)) reports_.say(false, line);
    end(options_.grace);
  });
}

void StepFarewell::wait_for_end(base::Duration limit, void (StepFarewell::*fn)()) {
  state_.change_if<Attending>(Ending{});
  if (Ending* ending = state_.in<Ending>()) ending->timer = loop_.after(limit, [this, fn] { (this->*fn)(); });
}

void StepFarewell::end(base::Duration grace) {
  if (options_.part == Part::kWatch || !is_waiting()) return;
  wire::StepOrder order;
  order.mutable_end()->set_grace_us(grace.us);
  nodes_.order(order);
  wait_for_end(grace + options_.patience_at_end, &StepFarewell::give_up_waiting);
}

void StepFarewell::kill() {
  nodes_.refuse_outputs();
  if (state_.is<Ending>()) nodes_.signal(SIGKILL);  // the grace that it was told is over
  end({});
  check();
}

void StepFarewell::depart(int exit_code, bool is_too_early) {
  if (Done* done = state_.in<Done>()) done->has_left = true;
  if (!state_.change_if<Attending, Ending>(Departing{is_too_early, {}})) return;
  reports_.forget_ends();
  input_.forget_key();
  loop_.defer([this, alive = std::weak_ptr<void>(alive_), exit_code] {
    if (alive.expired()) return;
    input_.stop();
    nodes_.leave();
    wait_departed(exit_code, 0);
  });
}

/// So that a node knows at once that nobody is there, and does not wait for this client to come back.
void StepFarewell::wait_departed(int exit_code, int looks) {
  constexpr int kMostLooks = 200;
  Departing* departing = state_.in<Departing>();
  if (departing != nullptr && !nodes_.has_left() && looks < kMostLooks) {
    departing->look_timer = loop_.after(base::milliseconds(5), [=, this] { wait_departed(exit_code, looks + 1); });
    return;
  }
  if (done_fn_) done_fn_(exit_code);
}

void StepFarewell::give_up_waiting() {
  for (StepNode& node : nodes_) {
    if (node.has_ended() && node.session()->open_outputs() == 0) continue;
    verdict_.lose();
    reports_.say(true, node.name() + ": no answer; its tasks may still run");
    node.session()->refuse_outputs();
    node.give_up();
  }
  check();
}

void StepFarewell::give_up_sessions() {
  for (StepNode& node : nodes_) node.give_up();
  check();
}

// A session that its shepherd has not closed yet is waited for: what it does not know to be taken it would keep.
void StepFarewell::check() {
  if (!is_waiting()) return;
  if (std::any_of(nodes_.begin(), nodes_.end(), [](const StepNode& n) { return !n.is_closed() && !n.is_over(); }))
    return;
  if (!nodes_.are_all_closed()) {
    const Ending* ending = state_.in<Ending>();
    if (ending == nullptr || !ending->timer.is_active()) wait_for_end(options_.grace, &StepFarewell::give_up_sessions);
    return;
  }
  if (outputs_.is_flushed()) finish();
}

void StepFarewell::finish() {
  state_.change_if<Attending, Ending>(Done{});
  loop_.defer([this, alive = std::weak_ptr<void>(alive_)] {
    if (alive.expired()) return;
    reports_.tell_ends();
    if (done_fn_) done_fn_(verdict_.exit_code(reports_.tasks()));
  });
}

}  // namespace gw::attach
