// See orders.h.
#include "ctld/core/steps/orders.h"

#include <algorithm>
#include <utility>

#include "ctld/core/jobs/facts.h"
#include "ctld/core/jobs/orders.h"
#include "ctld/core/shared/links.h"
#include "wire/convert.h"
#include "wire/gang.h"

namespace gw::ctld {

using model::Job;
using model::Step;
using model::StepNode;

wire::StartStep start_of(const Core& core, const Job& job, const Step& step) {
  wire::StartStep start;
  *start.mutable_job() = prepare_of(core, job);
  start.set_step(step.number + 1);
  std::vector<const model::NodeShare*> shares;
  for (const StepNode& node : step.nodes) shares.push_back(&node.share);
  *start.mutable_gang() = wire::gang_of(shares);
  *start.mutable_request() = wire::to_wire(step.request);
  start.mutable_request()->clear_nodelist();  // as with the job
  start.mutable_request()->clear_exclude();
  return start;
}

void send_start_step(Core& core, const Job& job, const Step& step, size_t index, const wire::StartStep& common) {
  const model::NodeShare& share = step.nodes[index].share;
  wire::ControllerToNode message;
  wire::StartStep& start = *message.mutable_start_step();
  start = common;
  complete_for(job, share.node, *start.mutable_job());
  *start.mutable_share() = wire::to_wire(share);
  start.mutable_gang()->set_node_id(static_cast<uint32_t>(index));
  send_to_node(core, share.node, std::move(message));
}

base::Duration kill_wait_of(const Core& core, const Step& step) {
  const model::Job* job = core.jobs.find(step.job);
  const model::Placed* placed = job == nullptr ? nullptr : job->placed();
  return placed == nullptr ? core.settings.kill_wait : placed->contract.kill_wait;
}

void stop_step(Core& core, Step& step, base::Duration grace) {
  step.is_ending = true;
  step.is_killed |= grace.us <= 0;
  for (const StepNode& node : step.nodes)
    if (!node.is_gone) stop_step_on(core, step, node.share.node, grace);
}

void stop_step_on(Core& core, const Step& step, NodeId node, base::Duration grace) {
  wire::ControllerToNode message;
  wire::Stop& s = *message.mutable_stop();
  s.set_job(step.job.value);
  s.set_attempt(step.attempt);
  s.set_step(step.number + 1);
  s.set_grace_us(grace.us);
  s.set_kill_now(grace.us <= 0);
  send_to_node(core, node, std::move(message));
}

void send_ticket(Core& core, const Step& step, ConnId conn, uint64_t request_id, const std::string& client_key,
                 bool watch) {
  const Job* job = core.jobs.find(step.job);
  SignTicket out;
  out.conn = conn;
  out.reply.set_id(request_id);
  *out.reply.mutable_step()->mutable_step() = wire::to_wire(step);
  out.reply.mutable_step()->mutable_step()->clear_client_key();
  out.reply.mutable_step()->set_now_us(core.now.us);
  out.uid = step.uid;
  out.gid = job == nullptr ? 0 : job->spec.gid;
  out.job = step.job.value;
  out.attempt = step.attempt;
  out.step = step.number;
  // Nodes that joined later know the stay that they are in; one ticket is good for all of them.
  for (const StepNode& node : step.nodes)
    if (job != nullptr) out.generation = std::max(out.generation, generation_on(*job, node.share.node));
  out.watch = watch;
  out.client_key = client_key;
  out.now = core.now;
  core.out.send(std::move(out));
}

void acknowledge_step(Core& core, NodeId node, uint32_t job, uint32_t attempt, uint32_t step, wire::RunPhase phase) {
  wire::ControllerToNode ack;
  ack.mutable_ack()->set_job(job);
  ack.mutable_ack()->set_attempt(attempt);
  ack.mutable_ack()->set_step(step);
  ack.mutable_ack()->set_phase(phase);
  send_to_node(core, node, std::move(ack));
}

}  // namespace gw::ctld
