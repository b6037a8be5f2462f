// What a suspended job keeps holding, and what it gives away until it resumes.
// Invariant: the two parts are disjoint, and together what the job was given.
#pragma once

#include "model/request.h"

namespace gw::model {

/// Of each node its memory, and its GPUs unless others may use them meanwhile (what is in their memory stays there).
Allocation kept_in_suspension(const Allocation& given, bool shares_gpus);
/// The rest: its cores and, where others may use them, its GPUs.
Allocation freed_in_suspension(const Allocation& given, bool shares_gpus);

}  // namespace gw::model
