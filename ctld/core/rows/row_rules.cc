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

Status check_token_row(const wire::Token& token) {
  constexpr size_t kHashLetters = 64;
  const std::string& hash = token.hash();
  if (hash.size() != kHashLetters || hash.find_first_not_of("0123456789abcdef") != std::string::npos)
    return base::invalid("a token's hash has 64 hexadecimal letters", "gangway token make");
  if (token.id().empty() || !hash.starts_with(token.id())) return base::invalid("a token is named by its hash");
  if (token.uid() == 0) return base::invalid("root has no tokens");
  if (token.name().find_first_of(std::string_view("\0\n\r\t\x1b", 5)) != std::string::npos)
    return base::invalid("the name of a token is one line");
  return wire::check_bounds(wire::kTokenBounds, wire::row_bytes(token));
}

base::Result<wire::Token> read_token(const store::NamedBytes& row) {
  GW_TRY_STATUS(wire::check_bounds(wire::kTokenBounds, row.bytes));
  wire::Token token;
  if (!token.ParseFromString(row.bytes) || token.id() != row.name)
    return base::fail(base::ErrorCode::kInternal, "it cannot be read");
  GW_TRY_STATUS(check_token_row(token));
  return token;
}

Status settle_partition_row(model::Partition& p) {
  for (auto* names : {&p.nodes, &p.allow_users, &p.allow_groups, &p.allow_qos, &p.deny_users})
    base::drop_duplicates(*names);
  return wire::check_bounds(wire::kPartitionBounds, wire::row_bytes(wire::to_wire(p)));
}

}  // namespace gw::ctld
