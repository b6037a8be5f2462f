// Advance reservations as `scontrol show reservation` and `sinfo -T` print them, and as JSON.
#pragma once

#include <string>

#include "client/show/job_text.h"
#include "wire/api.pb.h"

namespace gw::client {

/// Ends with a blank line (one newline with one_line).
std::string show_reservation_text(const wire::Reservation& r, ShowStyle style);
/// A line each under a heading; without reservations one sentence.
std::string reservation_table(const wire::ListReservationsReply& list, bool with_heading);
/// {"schema_version", "reservations": [...], "last_update"}
std::string reservations_json(const wire::ListReservationsReply& list);

}  // namespace gw::client
