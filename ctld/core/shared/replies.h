// Answers of changes are kept, so that a client that asks again gets the answer that it missed and the change is not
// made twice.
#pragma once

#include "ctld/core/core.h"

namespace gw::ctld {

/// What a client is told while the store cannot be written.
base::Error store_error(const Core& core);
/// While the state cannot be written nothing changes, and nothing is shown that a crash could take back.
void refuse_for_store(Core& core, ConnId conn, uint64_t request_id);
/// True: this request was answered before, and has the same answer now.
bool answer_again(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request);
/// Answers a change that was made, and keeps the answer for a retry in the same transaction.
void reply_change(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request, wire::ApiReply reply);

}  // namespace gw::ctld
