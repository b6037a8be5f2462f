// See link.h.
#include "noded/core/link.h"

#include <utility>

namespace gw::noded {

namespace {

void dial(Core& core) {
  core.link.dialed();
  core.out.add(Connect{});
}

}  // namespace

void send(Core& core, wire::NodeToController message) {
  const bool is_registration = core.link.is_registering() && message.has_register_node();
  if (!core.link.is_registered() && !is_registration) return;
  if (message.has_heartbeat() || message.has_register_node()) {
    core.link.beat_sent(core.now);
    core.leases.beat_sent();
  }
  core.out.add(SendToController{std::move(message)});
}

void connect_once_clean(Core& core) {
  if (!core.link.is_recovering()) return;
  // Register says that whatever is not listed is dead: the remains of an earlier boot must be gone by then.
  for (const auto& [key, run] : core.runs.all())
    if (run.is_stale) return;
  dial(core);
}

void on_link_down(Core& core, const std::string& why) {
  if (!core.link.is_open() && !core.link.is_connecting()) return;
  // One line for each loss, not for each try.
  if (core.link.failures() == 0) core.out.say(Level::kWarn, "no link to the controller: " + why);
  core.link.failed(core.now, {});
}

void hang_up(Core& core, const std::string& why, base::Duration at_least) {
  core.out.add(Disconnect{why});
  core.link.failed(core.now, at_least);
}

void tend_link(Core& core) {
  if (core.now >= core.link.dial_due()) dial(core);
  if (core.now >= core.link.silence_due()) {
    const int64_t seconds = core.link.silence(core.now).seconds();
    core.out.say(Level::kWarn, "the controller was silent for " + std::to_string(seconds) + " s");
    hang_up(core, "silence");
  }
  // Whatever else was sent: only a beat is answered.
  if (core.now >= core.link.beat_due()) {
    wire::NodeToController beat;
    beat.mutable_heartbeat()->set_now_us(core.leases.now().us);
    send(core, std::move(beat));
  }
}

}  // namespace gw::noded
