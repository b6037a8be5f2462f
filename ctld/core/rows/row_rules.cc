// See row_rules.h.
#include "ctld/core/rows/row_rules.h"

#include "base/text.h"
#include "wire/bounds.h"
#include "wire/convert.h"
#include "wire/row_bytes.h"

namespace gw::ctld {

using base::Status;

Status check_reservation_row(const model::Reservation& r) {
  GW_TRY_STATUS(model::validate(r));
  return wire::check_bounds(wire::kReservationBounds, wire::row_bytes(wire::to_wire(r)));
}

base::Result<model::Reservation> read_reservation(const store::NamedBytes& row) {
  GW_TRY_STATUS(wire::check_bounds(wire::kReservationBounds, row.bytes));
  wire::Reservation stored;
  if (!stored.ParseFromString(row.bytes) || stored.name() != row.name)
    return base::fail(base::ErrorCode::kInternal, "it cannot be read");
  GW_TRY(reservation, wire::from_wire(stored));
  GW_TRY_STATUS(check_reservation_row(reservation));
  return reservation;
}

Status settle_partition_row(model::Partition& p) {
  for (auto* names : {&p.nodes, &p.allow_users, &p.allow_groups, &p.allow_qos, &p.deny_users})
    base::drop_duplicates(*names);
  return wire::check_bounds(wire::kPartitionBounds, wire::row_bytes(wire::to_wire(p)));
}

}  // namespace gw::ctld
