// Versions of what node daemon, launcher and shepherds say to each other.
#pragma once

#include <cstdint>

namespace gw::noded::step {

/// Version of step.proto that this build speaks; it also understands the one before.
constexpr uint32_t kStepProtocol = 1;

}  // namespace gw::noded::step
