// See messages.h.
#include "ctld/core/nodes/messages.h"

#include "ctld/core/jobs/reports.h"
#include "ctld/core/jobs/suspend.h"
#include "ctld/core/nodes/foreign.h"
#include "ctld/core/nodes/registration.h"
#include "ctld/core/nodes/silence.h"
#include "ctld/core/steps/reports.h"
#include "ctld/core/steps/use.h"

namespace gw::ctld {
namespace {

NodeLoad load_of(const wire::Heartbeat& beat) {
  NodeLoad load;
  if (beat.has_load_centi()) load.centi = beat.load_centi();
  if (beat.has_free_mem_mb()) load.free_mem_mb = beat.free_mem_mb();
  return load;
}

}  // namespace

void on_node_message(Core& core, LinkId link, const NodePeer& peer, const wire::NodeToController& message) {
  using Kind = wire::NodeToController;
  if (message.kind_case() == Kind::kRegisterNode) return register_node(core, link, peer, message.register_node());
  const auto registered = core.nodes.node_of(link);
  if (!registered) return refuse_link(core, link, {base::ErrorCode::kProtocol, "register first", ""});
  const NodeId id = *registered;
  core.nodes.at(id).last_seen = core.now;
  if (foreign_message(core, id, message)) return;
  switch (message.kind_case()) {
    case Kind::kPrepared:
      if (message.prepared().step() != 0) return step_prepared(core, id, message.prepared());
      return on_prepared(core, id, message.prepared());
    case Kind::kPrepareFailed:
      if (message.prepare_failed().step() != 0) return step_failed(core, id, message.prepare_failed());
      return on_prepare_failed(core, id, message.prepare_failed());
    case Kind::kStarted:
      return on_started(core, id, message.started());
    case Kind::kBatchExited:
      if (message.batch_exited().step() != 0) return step_exited(core, id, message.batch_exited());
      return on_batch_exited(core, id, message.batch_exited());
    case Kind::kDone:
      if (message.done().step() != 0) return step_done(core, id, message.done());
      return on_done(core, id, message.done());
    case Kind::kSuspended:
      return on_suspended(core, id, message.suspended());
    case Kind::kUnfit:
      return on_unfit(core, id, message.unfit());
    case Kind::kUsage:
      return on_use(core, id, message.usage());
    case Kind::kHeartbeat:
      core.watch.answered.insert(id);
      core.watch.loads[id] = load_of(message.heartbeat());
      return send_beat(core, id, message.heartbeat().now_us());
    default:
      return;
  }
}

}  // namespace gw::ctld
