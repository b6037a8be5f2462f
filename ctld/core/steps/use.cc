// See use.h.
#include "ctld/core/steps/use.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ctld/core/shared/links.h"
#include "ctld/core/shared/permissions.h"
#include "wire/convert.h"

namespace gw::ctld {

using model::Job;
using model::Step;

namespace {

constexpr base::Duration kUseLimit = base::seconds(3);
constexpr size_t kMostAsked = 1000;
constexpr int64_t kMostOfOne = 16;  // of one connection

void ask_node(Core& core, uint64_t id, UseAsked& wait, const model::NodeShare& share, const Job& job, uint32_t step) {
  wait.open.insert({step, share.node});
  if (!core.nodes.has_link(share.node)) return;  // it will be named
  wire::ControllerToNode message;
  wire::UsageQuery& query = *message.mutable_usage_query();
  query.set_id(id);
  query.set_job(job.id.value);
  query.set_attempt(job.attempt);
  query.set_step(step);
  query.set_gpus(wire::to_wire(share).gpus());
  send_to_node(core, share.node, std::move(message));
}

/// A script runs on the first node; a job without one is looked at as a whole, everywhere.
void ask_use_of_job(Core& core, uint64_t id, UseAsked& wait, const Job& job) {
  wire::StepUsage& out = *wait.reply.add_steps();
  out.set_has_script(job.spec.kind == model::JobKind::kBatch);
  for (const model::NodeShare& share : job.placed()->allocation.shares) {
    ask_node(core, id, wait, share, job, 0);
    if (out.has_script()) return;
  }
}

void ask_use_of_step(Core& core, uint64_t id, UseAsked& wait, const Step& step) {
  wait.reply.add_steps()->set_step(step.number + 1);
  for (const model::StepNode& node : step.nodes)
    if (!node.is_gone) ask_node(core, id, wait, node.share, *core.jobs.find(step.job), step.number + 1);
}

}  // namespace

void ask_use(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request) {
  const wire::StepUsageRequest& asked = request.step_usage();
  const auto job = job_for_step(core, caller, asked.job_id());
  if (!job) return core.out.refuse(conn, request.id(), job.error());
  const auto of_conn = std::count_if(core.clients.use_asked.begin(), core.clients.use_asked.end(),
                                     [&](const auto& entry) { return entry.second.conn == conn; });
  if (of_conn >= kMostOfOne || core.clients.use_asked.size() >= kMostAsked)
    return core.out.refuse(conn, request.id(),
                           {base::ErrorCode::kUnavailable, "too many ask at once what steps use", "ask again"});
  if ((*job)->placed() == nullptr || model::is_end((*job)->state))
    return core.out.refuse(
        conn, request.id(),
        {base::ErrorCode::kConflict,
         fmt::format("job {} is {}: it uses nothing", asked.job_id(), model::long_name((*job)->state)), ""});
  const uint64_t id = ++core.clients.last_use;
  UseAsked& wait = core.clients.use_asked[id];
  wait.conn = conn;
  wait.request_id = request.id();
  wait.until = core.now + kUseLimit;
  const auto is_wanted = [&](uint32_t step) {
    return asked.steps().empty() || std::find(asked.steps().begin(), asked.steps().end(), step) != asked.steps().end();
  };
  if (is_wanted(0)) ask_use_of_job(core, id, wait, **job);
  for (const Step* step : core.steps.of((*job)->id))
    if (step->is_ready() && is_wanted(step->number + 1)) ask_use_of_step(core, id, wait, *step);
  if (wait.open.empty()) return answer_use(core, id);
  core.timers.set({wait.until, TimerKind::kStepUse, id, 0});
}

void on_use(Core& core, NodeId node, const wire::Usage& m) {
  const auto found = core.clients.use_asked.find(m.id());
  if (found == core.clients.use_asked.end() || found->second.open.erase({m.step(), node}) == 0) return;
  for (wire::StepUsage& step : *found->second.reply.mutable_steps()) {
    if (step.step() != m.step()) continue;
    wire::NodeUsage& usage = *step.add_nodes();
    usage = m.usage();
    usage.set_node(core.nodes.name_of(node));
  }
  const auto is_here = [&core](const auto& open) { return core.nodes.has_link(open.second); };
  const auto& open = found->second.open;
  if (std::none_of(open.begin(), open.end(), is_here)) answer_use(core, m.id());
}

void answer_use(Core& core, uint64_t id) {
  const auto found = core.clients.use_asked.find(id);
  if (found == core.clients.use_asked.end()) return;
  UseAsked wait = std::move(found->second);
  core.clients.use_asked.erase(found);
  for (wire::StepUsage& step : *wait.reply.mutable_steps())
    for (const auto& [number, node] : wait.open)
      if (number == step.step()) step.add_silent(core.nodes.name_of(node));
  wire::ApiReply out;
  wait.reply.set_now_us(core.now.us);
  *out.mutable_step_usage() = std::move(wait.reply);
  core.out.reply(wait.conn, wait.request_id, std::move(out));
}

}  // namespace gw::ctld
