// See quotas.h.
#include "ctld/core/cluster/quotas.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/counted.h"
#include "base/text.h"
#include "ctld/core/cluster/gpu_budgets.h"
#include "ctld/core/cluster/quota_effects.h"
#include "ctld/core/cluster/quota_feed.h"
#include "ctld/core/jobs/eligibility.h"
#include "ctld/core/jobs/facts.h"
#include "ctld/core/jobs/suspend.h"
#include "ctld/core/jobs/usage.h"
#include "ctld/core/shared/held.h"
#include "ctld/core/shared/replies.h"
#include "sched/quota/quota_tree.h"
#include "wire/convert.h"
#include "wire/row_bytes.h"

namespace gw::ctld {

using base::ErrorCode;
using base::Status;
using model::Qos;

namespace {

constexpr char kSeeded[] = "quotas_seeded";

/// The tree of the configuration. A default QOS that it does not list is none: its jobs run at the root.
QuotaTable seed_of(const Settings& settings) {
  QuotaTable table;
  for (const Qos& qos : settings.qos)
    if (!settings.default_qos_implied || qos.name != settings.default_qos) table.qos[qos.name] = qos;
  return table;
}

/// The rows that differ.
void save_quotas(Core& core, const QuotaTable& before, const QuotaTable& after) {
  for (const auto& [name, qos] : after.qos) {
    const auto old = before.qos.find(name);
    if (old == before.qos.end() || old->second != qos)
      core.out.write(store::PutQos{name, wire::row_bytes(wire::to_wire(qos))});
  }
  for (const auto& [name, qos] : before.qos)
    if (!after.qos.contains(name)) core.out.write(store::DropQos{name});
  for (const auto& [name, user] : after.users) {
    const auto old = before.users.find(name);
    if (old == before.users.end() || old->second != user)
      core.out.write(store::PutQuotaUser{name, wire::row_bytes(wire::to_wire(user))});
  }
  for (const auto& [name, user] : before.users)
    if (!after.users.contains(name)) core.out.write(store::DropQuotaUser{name});
}

/// As much as the scheduler would count now.
void list_past_use(const Core& core, wire::ListQuotasReply& list) {
  const auto add = [&](const sched::Used& used) -> wire::PastUse& {
    wire::PastUse& past = *list.add_past();
    past.set_gpu_seconds(sched::gpu_seconds(sched::used_by(used, core.now, core.settings.usage_half_life)));
    return past;
  };
  for (const auto& [qos, used] : core.usage.qos()) add(used).set_qos(qos);
  for (const auto& [uid, used] : core.usage.users()) add(used).set_uid(uid);
}

/// What the nodes of the configuration have, usable or not; empty while a node has never been heard of.
model::Amounts configured_amounts(const Core& core) {
  model::Amounts out;
  for (const auto& [id, node] : core.nodes.all()) {
    if (!node.topology) return {};
    out["node"] += 1;
    out["cpu"] += node.topology->cores.size() * node.topology->threads_per_core();
    out["mem"] += node.topology->memory_mb;
    out["gpu"] += node.topology->gpus.size() * model::kWholeGpu;
    for (const model::Gpu& gpu : node.topology->gpus) out["gpu:" + base::to_lower(gpu.type)] += model::kWholeGpu;
  }
  return out;
}

/// Gives a job another QOS, whatever it does.
void move_to_qos(Core& core, model::Job& job, const std::string& to) {
  model::Allocation charged;  // the shares that were not discharged yet
  if (job.placed() != nullptr)
    for (const model::NodeShare& share : held_by(job).shares)
      if (core.placements.is_on(share.node, job.id)) charged.shares.push_back(share);
  if (!charged.shares.empty()) charge(core, job, charged, {});
  core.jobs.change_qos(job, to);
  core.planning.quota_epoch = core.feed.epoch() + 1;  // what follows tells the scheduler
  if (!charged.shares.empty()) charge(core, job, {}, charged);
  if (job.waiting() != nullptr) update_eligibility(core, job);
  if (job.placed() != nullptr && job.placed()->suspension && job.placed()->suspension->kept_id)
    tell_of_suspended(core, job);
  tell_of_running(core, job);
  core.rows.job_and_spec(job);
}

/// Jobs of deleted QOS go where the request says. Error: there are some, and it says nothing.
Status check_moves(const Core& core, const wire::ChangeQuotasRequest& request, const QuotaTable& after) {
  std::map<std::string, std::string> targets;
  for (const wire::QuotaChange& change : request.changes())
    if (change.what() == wire::QuotaChange::kDelete && !change.is_user()) targets[change.name()] = change.move_to();
  for (const auto& [name, qos] : core.quotas.qos) {
    if (after.qos.contains(name)) continue;
    const size_t jobs = core.jobs.submitted_to(name);
    const std::string& to = targets[name];
    if (!to.empty() && !after.qos.contains(to))
      return base::invalid(fmt::format("the jobs of QOS {} cannot move to QOS {}: it is deleted too", name, to));
    if (jobs > 0 && to.empty())
      return base::fail(ErrorCode::kConflict, fmt::format("QOS {} has {}", name, base::counted(jobs, "job")),
                        fmt::format("move them: gacctmgr delete qos {} --move-to=QOS", name));
  }
  return {};
}

/// Error: a partition would name a QOS that is deleted.
Status check_partitions(const std::map<std::string, model::Partition>& partitions, const QuotaTable& before,
                        const QuotaTable& after) {
  for (const auto& [name, p] : partitions) {
    std::vector<std::string> named = p.allow_qos;
    named.push_back(p.default_qos);
    for (const std::string& qos : named)
      if (before.qos.contains(qos) && !after.qos.contains(qos))
        return base::fail(ErrorCode::kConflict,
                          fmt::format("partition {} names QOS {} as {}", name, qos,
                                      qos == p.default_qos ? "its default" : "one of those it takes"),
                          fmt::format("first: gcontrol update PartitionName={} {}", name,
                                      qos == p.default_qos ? "QOS=none" : "AllowQos=LIST"));
  }
  return {};
}

void carry_out_moves(Core& core, const Caller& caller, const wire::ChangeQuotasRequest& request) {
  for (const wire::QuotaChange& change : request.changes()) {
    if (change.what() != wire::QuotaChange::kDelete || change.is_user() || change.move_to().empty()) continue;
    core.jobs.each([&](model::Job& job) {
      if (job.spec.qos != change.name() || model::is_end(job.state)) return;
      move_to_qos(core, job, change.move_to());
      core.out.job_event(job, "updated",
                         fmt::format("moved from QOS {} to {} by {}", change.name(), change.move_to(), caller.user),
                         caller.uid);
    });
  }
}

/// The priority of a QOS is one of the things that some orders rank its jobs by.
void order_anew(Core& core, const QuotaTable& before) {
  std::set<std::string> others;
  for (const auto& [name, qos] : core.quotas.qos)
    if (const auto old = before.qos.find(name); old != before.qos.end() && old->second.priority != qos.priority)
      others.insert(name);
  if (others.empty()) return;
  core.jobs.each([&](model::Job& job) {
    if (job.waiting() != nullptr && others.contains(job.spec.qos)) update_eligibility(core, job);
  });
}

}  // namespace

void seed_quotas(Core& core) {
  core.quotas = seed_of(core.settings);
  core.gpu_budgets.set_budgets(core.quotas, core.now);
  publish_quotas(core);
}

void restore_quotas(Core& core, const store::Snapshot& snapshot) {
  const bool is_seeded =
      std::any_of(snapshot.meta.begin(), snapshot.meta.end(), [](const auto& m) { return m.name == kSeeded; });
  if (!is_seeded) {
    save_quotas(core, {}, core.quotas);
    core.out.write(store::PutMeta{kSeeded, "1"});
    return;
  }
  QuotaTable stored;
  for (const store::NamedBytes& row : snapshot.qos) {
    wire::Qos qos;
    if (qos.ParseFromString(row.bytes) && qos.name() == row.name)
      stored.qos[row.name] = wire::from_wire(qos);
    else
      hold_named(core, store::RowKind::kQos, row.name, "it cannot be read");
  }
  for (const store::NamedBytes& row : snapshot.quota_users) {
    wire::QuotaUser user;
    if (user.ParseFromString(row.bytes) && user.name() == row.name)
      stored.users[row.name] = wire::from_wire(user);
    else
      hold_named(core, store::RowKind::kUser, row.name, "it cannot be read");
  }
  // What is below a QOS goes with it.
  while (const auto fault = model::check_qos_tree(stored.tree())) {
    hold_named(core, store::RowKind::kQos, fault->qos, fault->error.what);
    stored.qos.erase(fault->qos);
  }
  core.quotas = std::move(stored);
  core.gpu_budgets = GpuBudgets();  // those of the configuration: what is stored of them is not to be deleted
  core.gpu_budgets.set_budgets(core.quotas, core.now);
  publish_quotas(core);
}

void change_quotas(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request) {
  const wire::ChangeQuotasRequest& wanted = request.change_quotas();
  std::vector<std::string> lines;
  const QuotaAuthor author{caller, is_admin(core.settings, caller)};
  auto after = changed(core.quotas, wanted, author, {configured_amounts(core), core.settings.policy.grace}, lines);
  if (!after) return core.out.refuse(conn, request.id(), after.error());
  Status fits = check_moves(core, wanted, *after);
  if (fits) fits = check_partitions(core.partitions.all, core.quotas, *after);
  if (!fits) return core.out.refuse(conn, request.id(), fits.error());
  wire::ApiReply out;
  wire::ChangeQuotasReply& told = *out.mutable_change_quotas();
  for (const std::string& line : lines) told.add_changes(line);
  for (const std::string& line : effects_of(core, *after, wanted)) told.add_effects(line);
  if (wanted.dry_run()) return core.out.reply(conn, request.id(), std::move(out));
  const QuotaTable before = std::exchange(core.quotas, std::move(*after));
  save_quotas(core, before, core.quotas);
  publish_quotas(core);
  carry_out_moves(core, caller, wanted);
  order_anew(core, before);
  set_budgets(core, before);
  for (const std::string& line : lines) core.out.event("quotas changed", line + " by " + caller.user, caller.uid);
  core.out.note(fmt::format("quotas changed by {}: {}", caller.user, base::join(lines, "; ")));
  reply_change(core, conn, caller, request, std::move(out));
}

void list_quotas(Core& core, ConnId conn, const wire::ApiRequest& request) {
  wire::ApiReply out;
  wire::ListQuotasReply& list = *out.mutable_list_quotas();
  for (const auto& [name, qos] : core.quotas.qos) *list.add_qos() = wire::to_wire(qos);
  for (const auto& [name, user] : core.quotas.users) *list.add_users() = wire::to_wire(user);
  list.set_default_qos(core.settings.default_qos);
  list.set_now_us(core.now.us);
  list_budgets(core, list);
  list_past_use(core, list);
  core.out.reply(conn, request.id(), std::move(out));
}

}  // namespace gw::ctld
