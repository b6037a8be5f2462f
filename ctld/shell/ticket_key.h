// The key that tickets for steps are signed with, in a file of the state folder that nobody else may read.
// Invariant: shepherds of steps that run know the public half: a lost or changed file means that they cannot be joined
// any more, so it is made once and never replaced.
#pragma once

#include <string>

#include "auth/ticket.h"
#include "base/result.h"

namespace gw::ctld {

/// From `state_dir`/ticket.key; made and synced where there is none. Errors: errno; a file that holds no key (named,
/// with what to do), one that others may read.
base::Result<auth::SigningKey> load_ticket_key(const std::string& state_dir);

}  // namespace gw::ctld
