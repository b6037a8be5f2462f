// See figures.h.
#include "ctld/core/api/figures.h"

#include "base/text.h"
#include "ctld/core/api/query.h"

namespace gw::ctld {

Metrics metrics(const Core& core) {
  Metrics m;
  m.version = core.settings.version;
  m.cluster = core.settings.cluster;
  m.jobs = core.jobs.counts();
  m.queue_length = core.feed.queue_length();
  m.fragmentation = core.planning.fragmentation;
  m.preemptions = core.planning.preemptions;
  m.totals = core.totals;
  m.waiting = core.planning.waits.waiting();
  m.waits = core.planning.wait_figures;
  m.unexpected_events = core.jobs.unexpected_events();
  m.held_aside_rows = core.stored.held.rows().size();
  m.is_store_writable = core.stored.fault.empty();
  for (const auto& [id, node] : core.nodes.all()) {
    ++m.nodes[base::to_lower(node_state(core, node))];
    m.gpus_missing += missing_gpus(node);
    const sched::NodeAccount* account = core.ledger.capacity().node(id);
    if (account == nullptr || !account->node_class) continue;
    m.gpus += account->node_class->all_gpus;
    // What is neither free nor offline is held. A node that takes no jobs may still run some.
    double held = 0;
    for (const sched::Occupant& o : account->occupants)
      held += static_cast<double>(uint64_t{o.gpus.size()} * o.gpu_milli) / model::kWholeGpu;
    m.gpus_used += held;
    m.gpus_offline += account->facts.usable ? account->node_class->all_gpus - account->node_class->gpus
                                            : account->node_class->all_gpus;
  }
  return m;
}

void show_figures(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request) {
  const bool do_reset = request.show_figures().reset();
  if (do_reset && !is_admin(core.settings, caller))
    return core.out.refuse(conn, request.id(),
                           {base::ErrorCode::kDenied, "only administrators may begin the figures anew", {}});
  ShowFigures answer{conn, {}, do_reset};
  answer.reply.set_id(request.id());
  wire::ShowFiguresReply& shown = *answer.reply.mutable_show_figures();
  const JobCounts& counts = core.counts;
  shown.set_now_us(core.now.us);
  shown.set_since_us(counts.since.us);
  shown.set_submitted(counts.submitted);
  shown.set_started(counts.started);
  shown.set_completed(counts.completed);
  shown.set_cancelled(counts.cancelled);
  shown.set_failed(counts.failed);
  shown.set_pending(core.jobs.counts()[static_cast<size_t>(model::JobState::kPending)]);
  shown.set_running(core.jobs.counts()[static_cast<size_t>(model::JobState::kRunning)]);
  shown.set_queue_length(core.feed.queue_length());
  if (do_reset) core.counts = {.since = core.now};
  core.out.send(std::move(answer));
}

}  // namespace gw::ctld
