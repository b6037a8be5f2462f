// See spec_rules.h.
#include "ctld/core/rows/spec_rules.h"

#include <fmt/format.h>

#include "wire/bounds.h"
#include "wire/convert.h"
#include "wire/row_bytes.h"

namespace gw::ctld {
namespace {

base::Status check_spec(std::string_view bytes) {
  if (bytes.size() > wire::kMostSpecBytes)
    return base::invalid(
        fmt::format("the options of the job take {} bytes; at most {} are taken", bytes.size(), wire::kMostSpecBytes),
        "shorten the arguments, the comment or the node lists");
  return wire::check_bounds(wire::kJobSpecBounds, bytes);
}

}  // namespace

base::Status settle_spec(model::JobSpec& spec) {
  GW_TRY_STATUS(model::normalise(spec));
  return check_spec(wire::row_bytes(wire::to_wire(spec)));
}

base::Result<model::JobSpec> read_spec(std::string_view bytes) {
  GW_TRY_STATUS(check_spec(bytes));
  wire::JobSpec stored;
  if (!stored.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return base::fail(base::ErrorCode::kInternal, "it cannot be read");
  GW_TRY(spec, wire::from_wire(stored));
  GW_TRY_STATUS(model::normalise(spec));
  return spec;
}

}  // namespace gw::ctld
