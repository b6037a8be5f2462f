// What a controller must know again. See promises.h.
#include "tests/prop/ctld_nodes/promises.h"

#include <set>

#include "base/text.h"
#include "wire/convert.h"

namespace gw::ctld::testing {

namespace {

std::string text_of(const model::NodeShare& share) {
  return share.name + " cores " + share.cores.text() + " gpus " + share.gpus.text() + " of " +
         std::to_string(share.gpu_milli) + " mem " + std::to_string(share.mem_mb) + "; ";
}

void add_jobs(const Controller& core, Time oldest_end, Promises& out) {
  for (const auto& [id, job] : core.jobs()) {
    if (job.ended() != nullptr && job.ended()->ended <= oldest_end) continue;
    const std::string name = "job " + id.text();
    out[name + " state"] = std::string(model::long_name(job.state)) + " attempt " + std::to_string(job.attempt) +
                           " failures " + std::to_string(job.launch_failures) + " limit " +
                           std::to_string(job.spec.time_limit.us);
    out[name + " spec"] = wire::to_wire(job.spec).SerializeAsString();
    out[name + " status"] = wire::stored_status(job).SerializeAsString();
    if (job.placed() == nullptr) continue;
    for (const model::NodeShare& share : job.placed()->allocation.shares)
      out[name + " on " + share.name] = wire::run_node(*job.placed(), share).SerializeAsString();
  }
}

void add_holdings(const std::string& what, const sched::Capacity& capacity, Promises& out) {
  for (const auto& [id, holding] : capacity.holdings()) {
    std::map<std::string, std::string> shares;
    for (const model::NodeShare& share : capacity.allocation_of(id).shares) shares[share.name] = text_of(share);
    std::string& text = out[what + " of " + id.text()];
    text = "in " + holding.partition + ": ";
    for (const auto& [node, share] : shares) text += share;
  }
}

/// Timers of kinds of which the latest holds, where they still mean something.
void add_timers(const Controller& core, Time oldest_end, Promises& out) {
  core.timers().each_due(Time::never(), [&](const Timer& timer) {
    const auto it = core.jobs().find(JobId(static_cast<uint32_t>(timer.id)));
    if (it == core.jobs().end() || it->second.attempt != timer.attempt) return;
    const model::Job& job = it->second;
    const std::string name = " of job " + job.id.text();
    const bool runs = job.state == model::JobState::kRunning;
    const auto reason = job.waiting() == nullptr ? model::WaitReason::kNone : job.waiting()->reason;
    const bool waits = reason == model::WaitReason::kBeginTime || reason == model::WaitReason::kLaunchBackoff;
    const std::string at = "at " + std::to_string(timer.at.us);
    if (timer.kind == TimerKind::kJobLimit && runs) out["limit" + name] = at;
    if (timer.kind == TimerKind::kJobWarn && runs) out["warning" + name] = at;
    if (timer.kind == TimerKind::kJobEligible && waits) out["begin" + name] = at;
    if (timer.kind == TimerKind::kJobPurge && job.ended() != nullptr && job.ended()->ended > oldest_end)
      out["purge" + name] = at;
    if (timer.kind == TimerKind::kStartTimeout && job.state == model::JobState::kConfiguring)
      out["start time-out" + name] = "some time";
    if (timer.kind == TimerKind::kSuspension && runs && job.placed()->suspension)
      out["suspension" + name] = "some time";
  });
}

void add_view(const sched::ClusterView& view, Promises& out) {
  for (const auto& [key, members] : view.queue().classes())
    for (const auto& [order, job] : members.members) out["queued job " + job.id.text()] = "qos " + job.qos;
  for (const auto& [epoch, nomination] : view.nominations()) {
    std::string& text = out["nomination of job " + nomination.job.text()];
    text = "in " + nomination.partition + " by " + std::to_string(nomination.when.us) + ": ";
    for (const model::NodeShare& share : nomination.allocation.shares) text += text_of(share);
  }
  for (const auto& [id, job] : view.running())
    out["running " + id.text()] = "qos " + job->qos + (job->preemptible ? "" : ", may keep what it has");
  for (const model::Qos& qos : view.quota().tree().list())
    out["qos " + qos.name] = wire::to_wire(qos).SerializeAsString();
  const sched::QuotaTree& tree = view.quota().tree();
  for (uint32_t side = 0; side < tree.nodes().size(); ++side) {
    std::string& text = out["demand of " + tree.words(side)];
    for (const uint64_t amount : view.quota().waiting()[side]) text += std::to_string(amount) + " ";
  }
  for (const auto& [id, holder] : view.quota().holders()) {
    std::string& text = out["quota held by " + id.text()];
    text = tree.words(holder.leaf) + (holder.preemptible ? ": " : ", not preemptible: ");
    for (const uint64_t amount : holder.amounts) text += std::to_string(amount) + " ";
  }
  for (const auto& [name, reservation] : view.reservations())
    out["reservation " + name] = std::to_string(reservation.start.us) + " " + std::to_string(reservation.nodes.size());
}

}  // namespace

Promises promises_of(const Controller& core, const sched::ClusterView& view, Time oldest_end) {
  Promises out;
  add_jobs(core, oldest_end, out);
  add_holdings("ledger", core.ledger(), out);
  add_holdings("view", view.capacity(), out);
  add_timers(core, oldest_end, out);
  add_view(view, out);
  for (const auto& [id, node] : core.nodes())
    out["node " + node.config.name] =
        std::to_string(static_cast<int>(node.admin)) + " " + node.boot_id + " " + node.reason;
  return out;
}

std::string difference(const Promises& kept, const Promises& found) {
  for (const auto& [name, text] : kept) {
    const auto it = found.find(name);
    if (it == found.end()) return name + " is lost; it was: " + base::printable(text, 2000);
    if (it->second != text)
      return name + " was: " + base::printable(text, 2000) + "\nand is: " + base::printable(it->second, 2000);
  }
  for (const auto& [name, text] : found)
    if (!kept.contains(name)) return name + " is new: " + base::printable(text, 2000);
  return {};
}

}  // namespace gw::ctld::testing
