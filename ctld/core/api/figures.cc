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

}  // namespace gw::ctld
