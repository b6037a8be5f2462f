// What a reservation means for a job: where it may run, and whom it admits.
#pragma once

#include "ctld/core/core.h"

namespace gw::ctld {

/// Error kNotFound: there is none of this name, with what may have been meant.
base::Result<const model::Reservation*> find_reservation(const Core& core, const std::string& name);
/// A job that names a reservation and no partition goes where the reservation is.
void route_by_reservation(const Core& core, model::JobSpec& spec);
/// May the job run in the reservation that it names?
base::Status check_reservation(const Core& core, const model::JobSpec& spec);
/// "MAINTENANCE", "RESERVED" or nothing, as of now.
std::string reserved_as(const Core& core, const std::string& node);

}  // namespace gw::ctld
