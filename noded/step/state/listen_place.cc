// Host and ports of a step.
#include "noded/step/state/listen_place.h"

namespace gw::noded::step {

std::string listen_place(const wire::StepAccess& access) {
  const std::string &any = access.listen(), &ports = access.ports();
  if (ports.empty()) return any;
  const bool is_single = ports.find('-') == std::string::npos;
  return any.substr(0, any.rfind(':') + 1) + (is_single ? ports + "-" + ports : ports);
}

base::Error name_ports_key(base::Error error) {
  if (error.code == base::ErrorCode::kUnavailable && error.hint.empty())
    error.hint = "widen node_daemon.step_ports and start gnoded again, or wait until steps of this node have ended";
  return error;
}

}  // namespace gw::noded::step
