// See replies.h.
#include "ctld/core/shared/replies.h"

#include <algorithm>
#include <utility>

#include "wire/row_bytes.h"

namespace gw::ctld {

namespace {

/// It was carried out, and how it was answered cannot be read: doing it again would do it twice. False: it was not.
bool answer_lost(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request) {
  if (core.stored.held.rows().empty()) return false;
  const std::string name = held_reply_name(caller.uid, request.client_id());
  if (core.stored.held.find(store::word_of(store::RowKind::kReply), name) == nullptr) return false;
  core.out.refuse(
      conn, request.id(),
      {base::ErrorCode::kConflict, "this was carried out before, but what was answered cannot be read any more",
       "look whether it is as you want it"});
  return true;
}

void remember_reply(Core& core, const Caller& caller, const wire::ApiRequest& request, const wire::ApiReply& message) {
  if (request.client_id().empty()) return;
  std::string bytes = wire::row_bytes(message);
  core.out.write(store::PutReply{caller.uid, request.client_id(), bytes, core.now});
  if (core.clients.kept_replies.oldest() == Time::never())
    core.timers.set({core.now + kReplyMemory, TimerKind::kReplies, 0, 0});
  const bool is_exempt = is_admin(core.settings, caller);
  for (std::string& gone :
       core.clients.kept_replies.keep(core.now, caller.uid, request.client_id(), std::move(bytes), is_exempt))
    core.out.write(store::DropReply{caller.uid, std::move(gone)});
}

}  // namespace

base::Error store_error(const Core& core) {
  return {base::ErrorCode::kUnavailable, "the controller cannot write its state: " + core.stored.fault,
          "nothing was changed and running jobs continue; try again when an administrator has mended it"};
}

void refuse_for_store(Core& core, ConnId conn, uint64_t request_id) {
  core.out.refuse_at_once(conn, request_id, store_error(core));
}

bool answer_again(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request) {
  const std::string* kept = core.clients.kept_replies.find(caller.uid, request.client_id());
  if (kept == nullptr) return answer_lost(core, conn, caller, request);
  wire::ApiReply first;
  if (!first.ParseFromString(*kept)) return false;
  core.out.reply(conn, request.id(), std::move(first));
  return true;
}

void reply_change(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request,
                  wire::ApiReply message) {
  remember_reply(core, caller, request, message);
  core.out.reply(conn, request.id(), std::move(message));
}

}  // namespace gw::ctld
