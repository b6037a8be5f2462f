// What running steps use now, asked of their nodes.
// Invariants: a request is answered once: when every node has said it, or after a limit with what is there, naming the
// nodes that gave none; the number of requests under way is bounded, and a client that has gone is forgotten.
#include <fmt/format.h>

#include <algorithm>

#include "ctld/core/controller.h"
#include "wire/convert.h"

namespace gw::ctld {

using model::Job;
using model::Step;

namespace {

constexpr base::Duration kUseLimit = base::seconds(3);
constexpr size_t kMostAsked = 1000;
constexpr int64_t kMostOfOne = 16;  // of one connection

}  // namespace

void Controller::ask_use(Time now, ConnId conn, const Caller& caller, const wire::ApiRequest& request) {
  const wire::StepUsageRequest& asked = request.step_usage();
  const auto job = job_for_step(caller, asked.job_id());
  if (!job) return out_.refuse(conn, request.id(), job.error());
  const auto of_conn =
      std::count_if(use_asked_.begin(), use_asked_.end(), [&](const auto& entry) { return entry.second.conn == conn; });
  if (of_conn >= kMostOfOne || use_asked_.size() >= kMostAsked)
    return out_.refuse(conn, request.id(),
                       {base::ErrorCode::kUnavailable, "too many ask at once what steps use", "ask again"});
  if ((*job)->placed() == nullptr || model::is_end((*job)->state))
    return out_.refuse(
        conn, request.id(),
        {base::ErrorCode::kConflict,
         fmt::format("job {} is {}: it uses nothing", asked.job_id(), model::long_name((*job)->state)), ""});
  const uint64_t id = ++last_use_;
  UseAsked& wait = use_asked_[id];
  wait.conn = conn;
  wait.request_id = request.id();
  wait.until = now + kUseLimit;
  const auto is_wanted = [&](uint32_t step) {
    return asked.steps().empty() || std::find(asked.steps().begin(), asked.steps().end(), step) != asked.steps().end();
  };
  if (is_wanted(0)) ask_use_of_job(id, wait, **job);
  for (const Step* step : steps_.of((*job)->id))
    if (step->is_ready() && is_wanted(step->number + 1)) ask_use_of_step(id, wait, *step);
  if (wait.open.empty()) return answer_use(now, id);
  timers_.set({wait.until, TimerKind::kStepUse, id, 0});
}

/// A script runs on the first node; a job without one is looked at as a whole, everywhere.
void Controller::ask_use_of_job(uint64_t id, UseAsked& wait, const Job& job) {
  wire::StepUsage& out = *wait.reply.add_steps();
  out.set_has_script(job.spec.kind == model::JobKind::kBatch);
  for (const model::NodeShare& share : job.placed()->allocation.shares) {
    ask_node(id, wait, share, job, 0);
    if (out.has_script()) return;
  }
}

void Controller::ask_use_of_step(uint64_t id, UseAsked& wait, const Step& step) {
  wait.reply.add_steps()->set_step(step.number + 1);
  for (const model::StepNode& node : step.nodes)
    if (!node.is_gone) ask_node(id, wait, node.share, *jobs_.find(step.job), step.number + 1);
}

void Controller::ask_node(uint64_t id, UseAsked& wait, const model::NodeShare& share, const Job& job, uint32_t step) {
  wait.open.insert({step, share.node});
  if (!nodes_.has_link(share.node)) return;  // it will be named
  wire::ControllerToNode message;
  wire::UsageQuery& query = *message.mutable_usage_query();
  query.set_id(id);
  query.set_job(job.id.value);
  query.set_attempt(job.attempt);
  query.set_step(step);
  query.set_gpus(wire::to_wire(share).gpus());
  send_to_node(share.node, std::move(message));
}

void Controller::on_use(Time now, NodeId node, const wire::Usage& m) {
  const auto found = use_asked_.find(m.id());
  if (found == use_asked_.end() || found->second.open.erase({m.step(), node}) == 0) return;
  for (wire::StepUsage& step : *found->second.reply.mutable_steps()) {
    if (step.step() != m.step()) continue;
    wire::NodeUsage& usage = *step.add_nodes();
    usage = m.usage();
    usage.set_node(nodes_.name_of(node));
  }
  const auto is_here = [this](const auto& open) { return nodes_.has_link(open.second); };
  const auto& open = found->second.open;
  if (std::none_of(open.begin(), open.end(), is_here)) answer_use(now, m.id());
}

void Controller::answer_use(Time now, uint64_t id) {
  const auto found = use_asked_.find(id);
  if (found == use_asked_.end()) return;
  UseAsked wait = std::move(found->second);
  use_asked_.erase(found);
  for (wire::StepUsage& step : *wait.reply.mutable_steps())
    for (const auto& [number, node] : wait.open)
      if (number == step.step()) step.add_silent(nodes_.name_of(node));
  wire::ApiReply out;
  wait.reply.set_now_us(now.us);
  *out.mutable_step_usage() = std::move(wait.reply);
  out_.reply(wait.conn, wait.request_id, std::move(out));
}

}  // namespace gw::ctld
