// What keeps a job waiting, as messages have it (lib/model/blocker.h).
#pragma once

#include "model/blocker.h"
#include "wire/job.pb.h"

namespace gw::wire {

using BlockerMessages = google::protobuf::RepeatedPtrField<Blocker>;

/// Replaces what stands there.
void set_blockers(BlockerMessages& to, const model::Blockers& blockers);
/// Kinds and scopes of a later version become kUnknown, and the job's own.
model::Blockers blockers_from(const BlockerMessages& from);

}  // namespace gw::wire
