// What stored rows must be like: one function for a kind of row judges it when it is made and when it is read again.
#pragma once

#include "base/result.h"
#include "model/cluster.h"
#include "model/reservation.h"
#include "store/rows.h"
#include "wire/cluster.pb.h"

namespace gw::ctld {

/// Errors: model::validate(), or a bound of wire/bounds.h is exceeded.
base::Status check_reservation_row(const model::Reservation& r);
/// Errors: bytes that are no reservation of this name, or that check_reservation_row() would not accept.
base::Result<model::Reservation> read_reservation(const store::NamedBytes& row);

/// Errors: a hash that is none, an id that is not its beginning, root as its maker; a bound of wire/bounds.h.
base::Status check_token_row(const wire::Token& token);
/// Errors: bytes that are no token of this name, or that check_token_row() would not accept.
base::Result<wire::Token> read_token(const store::NamedBytes& row);

/// As above, for a partition that a command makes or changes.
base::Status settle_partition_row(model::Partition& p);

}  // namespace gw::ctld
