// Limits of a step as containment plug-ins take them.
#include "noded/step/contain/contain_spec.h"

namespace gw::noded::step {

ContainSpec contain_spec(const wire::Containment& message) {
  ContainSpec spec;
  spec.group = message.group();
  spec.parent = message.parent();
  spec.cpus = message.cpus();
  spec.mems = message.mems();
  spec.mem_limit_mb = message.mem_limit_mb();
  spec.max_pids = message.max_pids();
  spec.allow_devices.assign(message.allow_devices().begin(), message.allow_devices().end());
  spec.all_devices.assign(message.all_devices().begin(), message.all_devices().end());
  return spec;
}

}  // namespace gw::noded::step
