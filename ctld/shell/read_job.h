// Answers from the database: ended jobs, scripts, environments, events.
#pragma once

#include "base/result.h"
#include "ctld/core/effects.h"
#include "store/store.h"

namespace gw::ctld {

/// Puts what only the store has into the reply. Errors: kNotFound, kDenied, a damaged record.
base::Status complete(store::Reader& reader, ReadStored& read);

}  // namespace gw::ctld
