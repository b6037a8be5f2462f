// Ending jobs while the state cannot be written (docs/adr/0006). A stop may overtake what waits for the disk if the run
// that it ends is durable itself, which a run that its nodes have reported is: after a crash the controller finds the
// run again, hears from the nodes that it has ended, and records that. A run whose placement is not durable yet must
// not be stopped at once: its number would be given again, and the nodes refuse what they were told to stop.
#include <fmt/format.h>

#include "base/counted.h"
#include "ctld/core/controller.h"
#include "wire/convert.h"

namespace gw::ctld {

/// Is what is said to this node about this run to go out before what waits for the disk?
bool Controller::overtakes(const model::Job& job, NodeId node) const {
  if (store_fault_.empty() || job.placed() == nullptr || !job.placed()->started) return false;
  if (job.placed()->pieces.contains(node)) return false;  // it may have joined the gang in what waits
  return true;
}

/// What was told before the fault was known waits with what cannot be written: it is told again.
void Controller::repeat_stops() {
  std::set<JobId> ending;
  for (const auto& [node, jobs] : placements_.by_node())
    for (const JobId id : jobs)
      if (jobs_.at(id).state == model::JobState::kCompleting) ending.insert(id);
  for (const JobId id : ending) {
    const model::Job& job = jobs_.at(id);
    for (const NodeId node : job.placed()->waiting_for)
      if (overtakes(job, node)) send_stop(job, node);
  }
}

/// Ends or signals jobs that run; those that wait stay as they are, since nothing starts meanwhile.
void Controller::cancel_unwritten(Time now, ConnId conn, const Caller& caller, const wire::ApiRequest& request) {
  size_t told = 0;
  std::set<uint32_t> ids;
  for (const JobId id : select(request.cancel().filter(), nullptr)) ids.insert(id.value);
  for (const uint32_t id : with_components(std::move(ids))) {
    model::Job& job = jobs_.at(JobId(id));
    if (job.placed() == nullptr || !job.placed()->started) continue;
    told += cancel_one(now, caller, job, request.cancel()).has_value();
  }
  base::Error error = store_error();
  if (told > 0) {
    error.what = fmt::format("{} told to end or signalled, which is not on disk yet: {}", base::counted(told, "job"),
                             error.what);
    error.hint = "jobs that wait stay in the queue; try again when an administrator has mended it";
  }
  out_.refuse_at_once(conn, request.id(), error);
}

}  // namespace gw::ctld
