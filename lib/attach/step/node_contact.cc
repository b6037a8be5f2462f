// Losses and returns of a connection.
#include "attach/step/node_contact.h"

#include <fmt/format.h>

namespace gw::attach {

void NodeContact::on_connected() {
  if (state_.change_if<Dialing, Lost>(Connected{})) return;
  SaidLost* said = state_.in<SaidLost>();
  if (said == nullptr) return;
  const bool had_one = said->had_one;
  state_.change(*said, Connected{});
  say_("connected to " + node_ + (had_one ? " again" : ""));
}

void NodeContact::on_lost(const std::string& reason, bool is_missed) {
  if (Lost* lost = state_.in<Lost>()) lost->reason = reason;
  if (!is_missed || state_.is<Lost, SaidLost>()) return;
  Lost lost{state_.is<Connected>(), reason, {}};
  lost.say_timer = loop_.after(say_lost_after_, [this] {
    if (Lost* now = state_.in<Lost>()) say_lost(*now);
  });
  state_.change_if<Dialing, Connected>(std::move(lost));
}

void NodeContact::say_lost(Lost& lost) {
  const std::string text = fmt::format("{} to {}: {}; trying again",
                                       lost.had_one ? "lost the connection" : "no connection yet", node_, lost.reason);
  state_.change(lost, SaidLost{lost.had_one});
  say_(text);
}

void NodeContact::on_session_over() {
  Lost* lost = state_.in<Lost>();
  if (lost == nullptr) return;
  if (lost->had_one)
    state_.change(*lost, Connected{});
  else
    state_.change(*lost, Dialing{});
}

}  // namespace gw::attach
