// What every job's specification must be like, whoever makes it: a submission, a component, an update, a stored row.
// Invariant: what settle_spec() accepts comes back from its bytes by read_spec() as it was, and nothing else does.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "model/job.h"

namespace gw::ctld {

/// Completes `spec` (names that stand twice go) and holds it against the bounds of wire/bounds.h. Errors: a bound is
/// exceeded, options contradict each other.
base::Status settle_spec(model::JobSpec& spec);

/// The spec of a row. Errors: bytes that are none, or that settle_spec() would not accept.
base::Result<model::JobSpec> read_spec(std::string_view bytes);

}  // namespace gw::ctld
