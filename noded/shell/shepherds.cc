// Connections to the shepherds: the implementation.
// Invariants: see shepherds.h.
#include "noded/shell/shepherds.h"

namespace gw::noded {

namespace {

// The launcher tells of a death, with its signal, when it has ended what was left: that is worth a moment's wait.
constexpr base::Duration kRetry = base::milliseconds(300);
constexpr int kMaxRefusals = 10;

}  // namespace

void Shepherds::connect(RunKey run) {
  const auto [it, is_new] = flock_.try_emplace(run);
  if (is_new) try_connect(run);
}

void Shepherds::try_connect(RunKey run) {
  const auto it = flock_.find(run);
  if (it == flock_.end()) return;
  auto stream = MessageStream::connect(
      loop_, socket_of_(run),
      [this, run](const std::string& payload) {
        wire::FromShepherd message;
        if (message.ParseFromString(payload)) events_.on_message(run, message);
      },
      [this, run] { on_closed(run); });
  if (stream) {
    it->second.refusals = 0;
    it->second.stream = std::move(*stream);
    return events_.on_connected(run);
  }
  if (++it->second.refusals >= kMaxRefusals) {
    flock_.erase(it);
    return events_.on_dead(run);
  }
  it->second.retry = loop_.after(kRetry, [this, run] { try_connect(run); });
}

void Shepherds::on_closed(RunKey run) {
  const auto it = flock_.find(run);
  if (it == flock_.end()) return;
  it->second.stream.reset();
  events_.on_lost(run);
  try_connect(run);
}

bool Shepherds::is_connected(RunKey run) const {
  const auto it = flock_.find(run);
  return it != flock_.end() && it->second.stream != nullptr;
}

void Shepherds::send(RunKey run, const wire::ToShepherd& message) {
  const auto it = flock_.find(run);
  if (it != flock_.end() && it->second.stream) it->second.stream->send(message);
}

void Shepherds::drop(RunKey run) { flock_.erase(run); }

}  // namespace gw::noded
