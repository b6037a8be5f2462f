// See places.h.
#include "noded/core/places.h"

#include <utility>

namespace gw::noded {

void tell_places(Core& core) {
  for (auto& [step, places] : core.places.take_due(core.now, core.config.node, core.runs.all())) {
    wire::ToShepherd message;
    *message.mutable_places() = std::move(places);
    core.out.tell_shepherd(*core.runs.find(step), std::move(message));
  }
}

void places_changed(Core& core, RunKey job) {
  core.places.changed(core.now, job);
  tell_places(core);
}

}  // namespace gw::noded
