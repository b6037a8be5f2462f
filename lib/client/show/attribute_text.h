// What people are shown of an attribute that is shown as it is kept.
#pragma once

#include <string>

#include "wire/job_attributes.h"

namespace gw::client {

/// As show job and gqueue have it; empty where it is not said (no text, 0, no time) or where this version does not keep
/// it.
std::string attribute_text(const wire::JobAttribute& attribute, const wire::JobSpec& spec);

}  // namespace gw::client
