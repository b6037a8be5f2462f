// See notify.h.
#include "ctld/core/api/notify.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "ctld/core/jobs/targets.h"
#include "ctld/core/jobs/wait_reasons.h"
#include "ctld/core/names.h"
#include "ctld/core/shared/links.h"
#include "ctld/core/shared/permissions.h"
#include "model/job_state.h"

namespace gw::ctld {
namespace {

using model::Job;

/// Kept for a client that has just been answered and is about to wait again.
constexpr size_t kMostUnheard = 8;

/// False: the node is not there to be told.
bool tell_node(Core& core, const Job& job, base::NodeId node, uint32_t step, const std::string& text) {
  if (!core.nodes.at(node).connected) return false;
  wire::ControllerToNode message;
  wire::Notice& notice = *message.mutable_notice();
  notice.set_job(job.id.value);
  notice.set_attempt(job.attempt);
  notice.set_step(step);
  notice.set_text(text);
  send_to_node(core, node, std::move(message));
  return true;
}

void answer(Core& core, const Job& job, ConnId conn, uint64_t request_id, const std::string& text) {
  wire::ApiReply reply;
  *reply.mutable_wait_job()->mutable_job() = job_to_wire(core, job);
  reply.mutable_wait_job()->set_cluster(core.settings.cluster);
  reply.mutable_wait_job()->set_notice(text);
  core.out.reply(conn, request_id, std::move(reply));
}

/// Whether anybody waits for it and takes such lines.
bool tell_waiters(Core& core, const Job& job, const std::string& text) {
  bool is_told = false;
  auto& unheard = core.clients.unheard;
  for (auto it = unheard.lower_bound({job.id, 0}); it != unheard.end() && it->first.first == job.id; ++it) {
    if (std::deque<std::string>& texts = it->second; texts.size() < kMostUnheard) texts.push_back(text);
    is_told = true;
  }
  auto& waiters = core.clients.waiters;
  const auto [first, last] = waiters.equal_range(job.id);
  for (auto it = first; it != last;) {
    if (!it->second.takes_notices) {
      ++it;
      continue;
    }
    answer(core, job, it->second.conn, it->second.request_id, text);
    unheard.try_emplace({job.id, it->second.conn});
    it = waiters.erase(it);
    is_told = true;
  }
  return is_told;
}

/// Whether anything of it runs that has a reader.
bool tell_run(Core& core, const Job& job, const std::string& text) {
  if (job.state != model::JobState::kRunning || job.placed()->allocation.shares.empty()) return false;
  bool is_told = job.spec.kind == model::JobKind::kBatch &&
                 tell_node(core, job, job.placed()->allocation.shares.front().node, 0, text);
  for (const model::Step* step : core.steps.of(job.id)) {
    // Its client is one, however many nodes it has.
    const auto node = std::ranges::find_if(step->nodes, [](const model::StepNode& n) { return !n.is_gone; });
    if (node != step->nodes.end()) is_told |= tell_node(core, job, node->share.node, step->number + 1, text);
  }
  return is_told;
}

}  // namespace

bool answer_with_notice(Core& core, ConnId conn, const Job& job, uint64_t request_id) {
  const auto unheard = core.clients.unheard.find({job.id, conn});
  if (unheard == core.clients.unheard.end()) return false;
  if (unheard->second.empty()) {
    core.clients.unheard.erase(unheard);
    return false;
  }
  const std::string text = std::move(unheard->second.front());
  unheard->second.pop_front();
  answer(core, job, conn, request_id, text);
  return true;
}

void notify_job(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request) {
  const wire::NotifyJobRequest& said = request.notify_job();
  const JobId id(said.id());
  if (said.text().empty())
    return core.out.refuse(conn, request.id(), {base::ErrorCode::kInvalid, "the message is empty", ""});
  google::protobuf::RepeatedField<uint32_t> ids;
  ids.Add(said.id());
  const auto targets = targets_of(core, caller, ids, {});
  if (!targets || targets->empty() || targets->front().jobs.empty())
    return core.out.refuse(conn, request.id(), no_such_job(id));
  bool is_told = false;
  for (const NamedTasks& named : targets->front().jobs) {
    const Job& job = core.jobs.at(named.job);
    if (!is_allowed(Grant::kOwnJobs, role_for(core, caller, job)))
      return core.out.refuse(conn, request.id(), denied_job(core, caller, job));
    is_told |= tell_run(core, job, said.text());
    is_told |= tell_waiters(core, job, said.text());
  }
  if (!is_told)
    return core.out.refuse(conn, request.id(),
                           {base::ErrorCode::kConflict,
                            fmt::format("nobody would read a message to job {}, which is {}", id.value,
                                        model::long_name(core.jobs.at(targets->front().jobs.front().job).state)),
                            "of a job that runs its script and steps do, of one that waits its salloc or srun"});
  const Job& told = core.jobs.at(targets->front().jobs.front().job);
  if (told.spec.uid != caller.uid)
    core.out.audit("notified", fmt::format("job {} of {}", told.id.value, told.spec.user), "by " + caller.user,
                   caller.uid);
  wire::ApiReply reply;
  reply.mutable_ok();
  core.out.reply(conn, request.id(), std::move(reply));
}

}  // namespace gw::ctld
