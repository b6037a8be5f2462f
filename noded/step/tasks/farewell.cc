// The end of a step towards its clients.
#include "noded/step/tasks/farewell.h"

#include "wire/step_channels.h"

namespace gw::noded::step {

using base::ErrorCode;

Farewell::Farewell(io::Loop& loop, Audience& audience, int64_t settle_limit_us, Asks asks)
    : loop_(loop),
      audience_(audience),
      settle_limit_(settle_limit_us > 0 ? base::microseconds(settle_limit_us) : kSettleLimit),
      asks_(std::move(asks)) {}

void Farewell::advance(bool is_drained) {
  if (state_.is<Draining>() && is_drained)
    state_.leave<Draining>([](Draining before) { return Settling{std::move(before.patience)}; });
  if (state_.is<Settling>() && audience_.is_settled()) {
    state_.leave<Settling>([](Settling before) { return Closing{std::move(before.patience)}; });
    audience_.say_to_owner(stream::StepState{stream::StepState::Phase::kEnded, {}});
  }
  if (state_.is<Closing>() && audience_.is_settled()) {
    state_.go<Closing, Over>();
    if (audience_.owner() != nullptr) audience_.owner()->close({ErrorCode::kUnavailable, wire::kStepOver, ""});
  }
  if (state_.is<Closing, Over>()) audience_.dismiss_watchers();
  if (state_.is<Over>() || (is_stopped_ && has_begun())) tell_exit();
}

io::Timer* Farewell::patience() {
  if (auto* draining = state_.in<Draining>()) return &draining->patience;
  if (auto* settling = state_.in<Settling>()) return &settling->patience;
  if (auto* closing = state_.in<Closing>()) return &closing->patience;
  return nullptr;
}

// Nothing else would end a step whose client is stopped, while its connection is in order: the job would stay for ever.
void Farewell::await_owner(size_t untaken_before) {
  io::Timer* const timer = patience();
  if (timer == nullptr) return;
  *timer = loop_.after(settle_limit_, [this, untaken_before] {
    const size_t now = asks_.untaken();
    if (now != untaken_before || audience_.owner() == nullptr) return await_owner(now);
    audience_.owner()->close({ErrorCode::kTimeout, "the step is over, and its client took nothing of its output", ""});
  });
}

void Farewell::tell_exit() {
  if (!telling_.is<Untold>()) return;
  auto exit = asks_.exit(is_stopped_);
  if (!exit) return;  // stopped before it began
  telling_.go<Untold, Told>(std::move(*exit));
  asks_.wake();
}

std::optional<wire::StepExit> Farewell::take_exit() {
  auto* told = telling_.in<Told>();
  if (told == nullptr) return std::nullopt;
  std::optional<wire::StepExit> exit = std::move(told->exit);
  telling_.go<Told, Fetched>();
  return exit;
}

bool Farewell::may_leave(size_t sessions) {
  if (sessions == 0 || leaving_.is<Parted>()) return true;
  if (leaving_.is<Staying>()) leaving_.go<Staying, Parting>(loop_.after(kFarewell, [this] { say_last_word(); }));
  return false;
}

void Farewell::say_last_word() {
  constexpr base::Duration kMoment = base::milliseconds(50);
  leaving_.go<Parting, LastWord>();
  const base::Error why{ErrorCode::kTimeout, "the step is over, and not all of its output was taken", ""};
  if (audience_.owner() != nullptr) audience_.owner()->close(why);
  audience_.close_watchers(why);
  leaving_.in<LastWord>()->moment = loop_.after(kMoment, [this] {
    leaving_.go<LastWord, Parted>();
    asks_.wake();
  });
}

}  // namespace gw::noded::step
