// See notify.h.
#include "ctld/core/api/notify.h"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "ctld/core/jobs/targets.h"
#include "ctld/core/jobs/wait_reasons.h"
#include "ctld/core/shared/links.h"
#include "ctld/core/shared/permissions.h"
#include "model/job_state.h"

namespace gw::ctld {
namespace {

using model::Job;

void tell_node(Core& core, const Job& job, base::NodeId node, uint32_t step, const std::string& text) {
  wire::ControllerToNode message;
  wire::Notice& notice = *message.mutable_notice();
  notice.set_job(job.id.value);
  notice.set_attempt(job.attempt);
  notice.set_step(step);
  notice.set_text(text);
  send_to_node(core, node, std::move(message));
}

/// How many were told.
size_t tell_waiters(Core& core, const Job& job, const std::string& text) {
  auto& waiters = core.clients.waiters;
  const auto [first, last] = waiters.equal_range(job.id);
  size_t told = 0;
  for (auto it = first; it != last;) {
    if (!it->second.takes_notices) {
      ++it;
      continue;
    }
    wire::ApiReply reply;
    *reply.mutable_wait_job()->mutable_job() = job_to_wire(core, job);
    reply.mutable_wait_job()->set_cluster(core.settings.cluster);
    reply.mutable_wait_job()->set_notice(text);
    core.out.reply(it->second.conn, it->second.request_id, std::move(reply));
    it = waiters.erase(it);
    ++told;
  }
  return told;
}

/// Whether anything of it runs that has a reader.
bool tell_run(Core& core, const Job& job, const std::string& text) {
  if (job.state != model::JobState::kRunning || job.placed()->allocation.shares.empty()) return false;
  const bool has_script = job.spec.kind == model::JobKind::kBatch;
  if (has_script) tell_node(core, job, job.placed()->allocation.shares.front().node, 0, text);
  bool is_told = has_script;
  for (const model::Step* step : core.steps.of(job.id)) {
    // Its client is one, however many nodes it has.
    if (step->nodes.empty() || step->nodes.front().is_gone) continue;
    tell_node(core, job, step->nodes.front().share.node, step->number + 1, text);
    is_told = true;
  }
  return is_told;
}

}  // namespace

void notify_job(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request) {
  const wire::NotifyJobRequest& said = request.notify_job();
  const JobId id(said.id());
  const Job* job = core.jobs.find(id);
  if (job == nullptr) return core.out.refuse(conn, request.id(), no_such_job(id));
  if (!is_allowed(Grant::kOwnJobs, role_for(core, caller, *job)))
    return core.out.refuse(conn, request.id(), denied_job(*job));
  if (said.text().empty())
    return core.out.refuse(conn, request.id(), {base::ErrorCode::kInvalid, "the message is empty", ""});
  const bool is_run_told = tell_run(core, *job, said.text());
  if (tell_waiters(core, *job, said.text()) == 0 && !is_run_told)
    return core.out.refuse(
        conn, request.id(),
        {base::ErrorCode::kConflict,
         fmt::format("nobody would read a message to job {}, which is {}", id.value, model::long_name(job->state)),
         "of a job that runs its script and steps do, of one that waits its salloc or srun"});
  wire::ApiReply reply;
  reply.mutable_ok();
  core.out.reply(conn, request.id(), std::move(reply));
}

}  // namespace gw::ctld
