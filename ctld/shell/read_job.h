// The answer to `show_job` from the database: ended jobs, scripts, environments, history.
#pragma once

#include "base/result.h"
#include "ctld/core/effects.h"
#include "store/store.h"

namespace gw::ctld {

/// Puts what only the store has into the reply. Errors: kNotFound, kDenied, a damaged record.
base::Status complete(store::Reader& reader, ReadJob& read);

}  // namespace gw::ctld
