// See fingerprint.h.
#include "ctld/core/fingerprint.h"

#include <fmt/format.h>

#include "wire/convert.h"
#include "wire/row_bytes.h"

namespace gw::ctld {

std::string fingerprint(const Core& core) {
  std::string out = fmt::format("next {}\n", core.jobs.next().value);
  for (const auto& [id, job] : core.jobs.all()) {
    const store::JobRow row = row_of(job, true);
    out += fmt::format("job {} {} {} {}\n", id.value, row.state, row.spec.size(), row.status.size());
    out += row.spec + row.status;
    if (job.placed() == nullptr) continue;
    for (const model::NodeShare& share : job.placed()->allocation.shares)
      out += wire::row_bytes(wire::run_node(*job.placed(), share));
  }
  for (const auto& [id, array] : core.jobs.arrays().all()) {
    out += fmt::format("array {} of {} jobs {}", id.value, array.jobs.size(),
                       wire::row_bytes(wire::to_wire(array.told(id))));
    for (const auto& [part, tasks] : array.parts) out += fmt::format("part {} {}\n", part.value, tasks.text());
  }
  for (const auto& [id, node] : core.nodes.all()) out += NodeTable::state_of(node);
  for (const auto& [uid, used] : core.usage.users())
    out += fmt::format("user {} {} {} {}\n", uid, used.amount, used.rate, used.at.us);
  for (const auto& [qos, used] : core.usage.qos())
    out += fmt::format("qos {} {} {} {}\n", qos, used.amount, used.rate, used.at.us);
  for (const auto& [name, qos] : core.quotas.qos) out += wire::row_bytes(wire::to_wire(qos));
  for (const auto& [name, user] : core.quotas.users) out += fmt::format("user {} {}\n", name, user.default_qos);
  for (const auto& [id, token] : core.tokens.all()) out += wire::row_bytes(token);
  for (const auto& [name, r] : core.reservations.all) out += wire::row_bytes(wire::to_wire(r));
  for (const auto& [key, step] : core.steps.all()) {
    model::Step stored = step;  // what nodes say again when they are back is not part of the state
    stored.started = {};
    for (model::StepNode& node : stored.nodes) {
      node.address.clear();
      node.key.clear();
    }
    out += wire::row_bytes(wire::to_wire(stored));
  }
  for (const auto& [name, partition] : core.partitions.all)
    out += fmt::format("partition {} {}\n", name, static_cast<int>(partition.state));
  return out;
}

}  // namespace gw::ctld
