// The machines, put together.
#include "attach/step/step_client.h"

#include <utility>

namespace gw::attach {

StepClient::StepClient(io::Loop& loop, const auth::KeyPair& key, StepOptions options, std::vector<NodePlan> plans,
                       Sink& out, Sink& error)
    : key_(key),
      out_(out),
      error_(error),
      machines_(loop, std::move(options), std::move(plans), out, error),
      events_(machines_) {
  for (Sink* sink : {&out_, &error_}) {
    sink->on_ready([this, sink] { events_.on_room(*sink); });
    sink->on_broken([this](const base::Error& why) { events_.on_broken(why); });
  }
}

StepClient::~StepClient() {
  for (Sink* sink : {&out_, &error_}) {
    sink->on_ready({});
    sink->on_broken({});
  }
}

base::Status StepClient::start(const AskFor& ask) {
  GW_TRY_STATUS(machines_.nodes.open(key_, ask, events_));
  if (machines_.options.part == Part::kLaunch)
    for (size_t node = 0; node < machines_.nodes.size(); ++node) machines_.outputs.prepare(node);
  machines_.nodes.start();
  machines_.input.start();
  return {};
}

}  // namespace gw::attach
