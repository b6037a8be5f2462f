// Where a shepherd, and what it starts, listens for clients and for other nodes.
#pragma once

#include <string>

#include "base/result.h"
#include "wire/step.pb.h"

namespace gw::noded::step {

/// As io::ListenOptions::address takes it: with the ports that the administrator has set aside, or port 0.
std::string listen_place(const wire::StepAccess& access);

/// Says of a range that is used up which key of the configuration it comes from; other errors stay.
base::Error name_ports_key(base::Error error);

}  // namespace gw::noded::step
