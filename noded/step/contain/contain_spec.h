// Limits of a step as containment plug-ins take them.
#pragma once

#include "noded/step/containment.h"
#include "wire/step.pb.h"

namespace gw::noded::step {

/// The containment limits of a spec as plug-ins take them.
ContainSpec contain_spec(const wire::Containment& message);

}  // namespace gw::noded::step
