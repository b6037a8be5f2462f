// Tokens are made, listed, revoked and used.
// Invariants: nobody has more by a token than by himself, and root has none; the secret never comes here; a token that
// is known to somebody is in the store.
#pragma once

#include "ctld/core/core.h"

namespace gw::ctld {

/// make_token, list_tokens, revoke_tokens, act_for.
void token_request(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request);
/// Of who acts by a token: may this be asked by it, now? Errors: kDenied, with what would help.
base::Status check_token(const Core& core, const Caller& caller, const wire::ApiRequest& request);
void restore_tokens(Core& core, const store::Snapshot& snapshot);

}  // namespace gw::ctld
