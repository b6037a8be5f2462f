// See held.h.
#include "ctld/core/api/held.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/hostlist.h"
#include "base/text.h"
#include "ctld/core/nodes/foreign.h"
#include "ctld/core/shared/held.h"
#include "ctld/core/shared/listing.h"
#include "ctld/core/shared/publish.h"
#include "ctld/core/shared/replies.h"
#include "ctld/core/shared/sight.h"

namespace gw::ctld {

namespace {

void list_held(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request) {
  if (!Sight(core, caller).sees_all())
    return core.out.refuse(
        conn, request.id(),
        {base::ErrorCode::kDenied, "rows that are held aside may be of jobs of others, which is private here",
         "an administrator can show them (private: in the configuration)"});
  auto fill = [&core, last = HeldRows::Key()](Time at, ListPiece& piece) mutable {
    wire::ListHeldAsideReply& list = *piece.reply.mutable_list_held_aside();
    list.set_now_us(at.us);
    for (auto it = core.stored.held.rows().upper_bound(last); it != core.stored.held.rows().end(); ++it) {
      if (piece.is_full()) return false;
      last = it->first;
      const store::HeldRow& row = core.stored.held.complete(it->second);
      wire::HeldRow& shown = *list.add_rows();
      shown.set_kind(row.kind);
      shown.set_name(row.name);
      shown.set_reason(row.reason);
      shown.set_since_us(row.since.us);
      shown.set_nodes(row.nodes);
      piece.added(shown.ByteSizeLong());
    }
    return true;
  };
  begin_list(core, conn, request.id(), std::move(fill));
}

/// What runs of a job whose row goes is ended: nobody would know of it any more.
void delete_held(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request) {
  const wire::DeleteHeldAsideRequest& asked = request.delete_held_aside();
  const store::HeldRow* found = core.stored.held.find(asked.kind(), asked.name());
  if (found == nullptr)
    return core.out.refuse(conn, request.id(),
                           {base::ErrorCode::kNotFound,
                            fmt::format("no row {}:{} is held aside", base::printable(asked.kind(), 100),
                                        base::printable(asked.name(), 300)),
                            "gcontrol show heldaside lists them"});
  const store::HeldRow row = core.stored.held.complete(*found);
  core.stored.held.erase(row.kind, row.name);
  core.out.write(store::DropHeld{row.kind, row.name});
  core.out.event("held row deleted", fmt::format("{} by {}", text_of(row), caller.user), caller.uid);
  if (const uint32_t job = job_of_held(row); job != 0)
    for (const ForeignRun& run : core.watch.foreign.of_job(job, Kin::kHeld)) stop_foreign(core, run);
  if (const auto names = base::expand_hostlist(row.nodes))
    for (const std::string& name : *names)
      if (const model::Node* node = core.nodes.find(name)) publish_node(core, *node);
  wire::ApiReply out;
  out.mutable_ok();
  reply_change(core, conn, caller, request, std::move(out));
}

}  // namespace

void held_request(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request) {
  if (request.has_delete_held_aside()) return delete_held(core, conn, caller, request);
  list_held(core, conn, caller, request);
}

}  // namespace gw::ctld
