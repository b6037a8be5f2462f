// The tree of quotas in the controller: where it comes from, who changes it, and what each job may submit to.
// Invariants: the rows of the store, book_ and what the scheduler was told are one and the same tree; a request that
// changes it is one transaction.
#include <fmt/format.h>

#include <algorithm>

#include "base/counted.h"
#include "base/text.h"
#include "ctld/core/controller.h"
#include "ctld/core/names.h"
#include "sched/quota_tree.h"
#include "wire/convert.h"

namespace gw::ctld {

using base::ErrorCode;
using base::Status;
using model::Qos;

namespace {

constexpr char kSeeded[] = "quotas_seeded";

/// The tree of the configuration. A default QOS that it does not list is none: its jobs run at the root.
QuotaBook seed_of(const Settings& settings) {
  QuotaBook book;
  for (const Qos& qos : settings.qos)
    if (!settings.default_qos_implied || qos.name != settings.default_qos) book.qos[qos.name] = qos;
  return book;
}

wire::QuotaUser to_wire(const model::QuotaUser& user) {
  wire::QuotaUser out;
  out.set_name(user.name);
  out.set_default_qos(user.default_qos);
  return out;
}

}  // namespace

void Controller::seed_quotas() {
  book_ = seed_of(settings_);
  publish_quotas();
}

/// As the scheduler does: jobs of different users are of different classes.
bool Controller::splits_by_user() const {
  return order().looks_at_users() || std::any_of(quotas_.begin(), quotas_.end(), [](const Qos& q) {
           return q.max_jobs_per_user > 0 || !q.limit_per_user.empty();
         });
}

/// Tells the scheduler.
void Controller::publish_quotas() {
  std::vector<Qos> tree = book_.tree();
  // Here nobody is gone at once: what a victim leaves has to be kept for whom it was taken.
  for (Qos& qos : tree)
    if (qos.grace) qos.grace = std::max(*qos.grace, base::seconds(1));
  if (tree != quotas_) {
    feed_.tell(sched::QosSet{tree});
    quota_epoch_ = feed_.epoch();
  }
  quotas_ = std::move(tree);
}

void Controller::restore_quotas(const store::Snapshot& snapshot, Time now) {
  const bool is_seeded =
      std::any_of(snapshot.meta.begin(), snapshot.meta.end(), [](const auto& m) { return m.name == kSeeded; });
  if (!is_seeded) {
    save_quotas({}, book_);
    out_.write(store::PutMeta{kSeeded, "1"});
    return;
  }
  QuotaBook stored;
  for (const store::NamedBytes& row : snapshot.qos) {
    wire::Qos qos;
    if (qos.ParseFromString(row.bytes) && qos.name() == row.name)
      stored.qos[row.name] = wire::from_wire(qos);
    else
      hold_named(now, store::RowKind::kQos, row.name, "it cannot be read");
  }
  for (const store::NamedBytes& row : snapshot.quota_users) {
    wire::QuotaUser user;
    if (user.ParseFromString(row.bytes) && user.name() == row.name)
      stored.users[row.name] = {row.name, user.default_qos()};
    else
      hold_named(now, store::RowKind::kUser, row.name, "it cannot be read");
  }
  // What is below a QOS goes with it.
  while (const auto fault = model::check_qos_tree(stored.tree())) {
    hold_named(now, store::RowKind::kQos, fault->qos, fault->error.what);
    stored.qos.erase(fault->qos);
  }
  book_ = std::move(stored);
  publish_quotas();
}

/// The rows that differ.
void Controller::save_quotas(const QuotaBook& before, const QuotaBook& after) {
  for (const auto& [name, qos] : after.qos) {
    const auto old = before.qos.find(name);
    if (old == before.qos.end() || old->second != qos)
      out_.write(store::PutQos{name, wire::to_wire(qos).SerializeAsString()});
  }
  for (const auto& [name, qos] : before.qos)
    if (!after.qos.contains(name)) out_.write(store::DropQos{name});
  for (const auto& [name, user] : after.users) {
    const auto old = before.users.find(name);
    if (old == before.users.end() || old->second != user)
      out_.write(store::PutQuotaUser{name, to_wire(user).SerializeAsString()});
  }
  for (const auto& [name, user] : before.users)
    if (!after.users.contains(name)) out_.write(store::DropQuotaUser{name});
}

/// What the nodes of the configuration have, usable or not; empty while a node has never been heard of.
model::Amounts Controller::configured_amounts() const {
  model::Amounts out;
  for (const auto& [id, node] : nodes_.all()) {
    if (!node.topology) return {};
    out["node"] += 1;
    out["cpu"] += node.topology->cores.size() * node.topology->threads_per_core();
    out["mem"] += node.topology->memory_mb;
    out["gpu"] += node.topology->gpus.size() * model::kWholeGpu;
    for (const model::Gpu& gpu : node.topology->gpus) out["gpu:" + base::to_lower(gpu.type)] += model::kWholeGpu;
  }
  return out;
}

/// The scheduler weighs what runs by what it was told of it: something of that is another now.
void Controller::tell_of_running(const model::Job& job) {
  if (ledger_.capacity().holdings().contains(job.id))
    feed_.tell(sched::RunningChanged{job.id, std::make_shared<const sched::PendingJob>(pending_of(job))});
  if (job.placed() == nullptr) return;
  for (const auto& [node, piece] : job.placed()->pieces)
    if (const auto* part = share_on(job, node); part != nullptr && placements_.job_of(piece.id))
      feed_.tell(sched::RunningChanged{piece.id, std::make_shared<const sched::PendingJob>(
                                                     sched::piece_of(pending_of(job), piece.id, part->tasks))});
}

/// Gives a job another QOS, whatever it does.
void Controller::move_to_qos(Time now, model::Job& job, const std::string& to) {
  // What it is charged for: the shares that were not discharged yet.
  int64_t rate = 0;
  if (job.placed() != nullptr)
    for (const model::NodeShare& share : held_by(job).shares)
      if (placements_.is_on(share.node, job.id)) rate += sched::usage_rate(share);
  if (rate != 0) charge(now, job, -rate);
  jobs_.change_qos(job, to);
  quota_epoch_ = feed_.epoch() + 1;  // what follows tells the scheduler
  if (rate != 0) charge(now, job, rate);
  if (job.waiting() != nullptr) consider(now, job);
  if (job.placed() != nullptr && job.placed()->suspension && job.placed()->suspension->holder) tell_of_suspended(job);
  tell_of_running(job);
  rows_.job_and_spec(job);
}

/// Jobs of deleted QOS go where the request says. Error: there are some, and it says nothing.
Status Controller::check_moves(const wire::ChangeQuotasRequest& request, const QuotaBook& after) const {
  std::map<std::string, std::string> targets;
  for (const wire::QuotaChange& change : request.changes())
    if (change.what() == wire::QuotaChange::kDelete && !change.is_user()) targets[change.name()] = change.move_to();
  for (const auto& [name, qos] : book_.qos) {
    if (after.qos.contains(name)) continue;
    const size_t jobs = jobs_.submitted_to(name);
    const std::string& to = targets[name];
    if (!to.empty() && !after.qos.contains(to))
      return base::invalid(fmt::format("the jobs of QOS {} cannot move to QOS {}: it is deleted too", name, to));
    if (jobs > 0 && to.empty())
      return base::fail(ErrorCode::kConflict, fmt::format("QOS {} has {}", name, base::counted(jobs, "job")),
                        fmt::format("move them: gacctmgr delete qos {} --move-to=QOS", name));
  }
  return {};
}

namespace {

/// Error: a partition would name a QOS that is deleted.
Status check_partitions(const std::map<std::string, model::Partition>& partitions, const QuotaBook& before,
                        const QuotaBook& after) {
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

}  // namespace

void Controller::carry_out_moves(Time now, const Caller& caller, const wire::ChangeQuotasRequest& request) {
  for (const wire::QuotaChange& change : request.changes()) {
    if (change.what() != wire::QuotaChange::kDelete || change.is_user() || change.move_to().empty()) continue;
    jobs_.each([&](model::Job& job) {
      if (job.spec.qos != change.name() || model::is_end(job.state)) return;
      move_to_qos(now, job, change.move_to());
      out_.job_event(now, job, "updated",
                     fmt::format("moved from QOS {} to {} by {}", change.name(), change.move_to(), caller.user),
                     caller.uid);
    });
  }
}

void Controller::change_quotas(Time now, ConnId conn, const Caller& caller, const wire::ApiRequest& request) {
  const wire::ChangeQuotasRequest& wanted = request.change_quotas();
  std::vector<std::string> lines;
  const QuotaAuthor author{caller, is_admin(settings_, caller)};
  auto after = changed(book_, wanted, author, {configured_amounts(), settings_.policy.grace}, lines);
  if (!after) return out_.refuse(conn, request.id(), after.error());
  Status fits = check_moves(wanted, *after);
  if (fits) fits = check_partitions(partitions_, book_, *after);
  if (!fits) return out_.refuse(conn, request.id(), fits.error());
  wire::ApiReply out;
  wire::ChangeQuotasReply& told = *out.mutable_change_quotas();
  for (const std::string& line : lines) told.add_changes(line);
  for (const std::string& line : effects_of(*after, wanted)) told.add_effects(line);
  if (wanted.dry_run()) return out_.reply(conn, request.id(), std::move(out));
  const QuotaBook before = std::exchange(book_, std::move(*after));
  save_quotas(before, book_);
  publish_quotas();
  carry_out_moves(now, caller, wanted);
  order_anew(now, before);
  for (const std::string& line : lines) out_.event(now, "quotas changed", line + " by " + caller.user, caller.uid);
  out_.note(fmt::format("quotas changed by {}: {}", caller.user, base::join(lines, "; ")));
  reply_change(now, conn, caller, request, std::move(out));
}

/// The priority of a QOS is one of the things that some orders rank its jobs by.
void Controller::order_anew(Time now, const QuotaBook& before) {
  std::set<std::string> others;
  for (const auto& [name, qos] : book_.qos)
    if (const auto old = before.qos.find(name); old != before.qos.end() && old->second.priority != qos.priority)
      others.insert(name);
  if (others.empty()) return;
  jobs_.each([&](model::Job& job) {
    if (job.waiting() != nullptr && others.contains(job.spec.qos)) consider(now, job);
  });
}

void Controller::list_quotas(Time now, ConnId conn, const wire::ApiRequest& request) {
  wire::ApiReply out;
  wire::ListQuotasReply& list = *out.mutable_list_quotas();
  for (const auto& [name, qos] : book_.qos) *list.add_qos() = wire::to_wire(qos);
  for (const auto& [name, user] : book_.users) *list.add_users() = to_wire(user);
  list.set_default_qos(settings_.default_qos);
  list.set_now_us(now.us);
  out_.reply(conn, request.id(), std::move(out));
}

void Controller::ask_scheduler(ConnId conn, const wire::ApiRequest& request) {
  if (!request.has_explain_quota()) {
    out_.send(AskScheduler{conn, request});
    return;
  }
  wire::ApiRequest asked = request;
  wire::ExplainQuotaRequest& explain = *asked.mutable_explain_quota();
  const auto settle = [&](uint32_t id, std::string* qos) -> Status {
    if (id != 0) {
      const model::Job* job = jobs_.find(JobId(id));
      if (job == nullptr) return tl::unexpected(no_such_job(JobId(id)));
      *qos = job->spec.qos;
      return {};
    }
    if (*qos == model::kRootQos || *qos == settings_.default_qos || book_.qos.contains(*qos)) return {};
    return tl::unexpected(invalid_name(ErrorCode::kNotFound, "QOS", *qos, keys_of(book_.qos)));
  };
  for (const Status& done :
       {settle(explain.taker_job(), explain.mutable_taker()), settle(explain.from_job(), explain.mutable_from())})
    if (!done) return out_.refuse(conn, request.id(), done.error());
  out_.send(AskScheduler{conn, std::move(asked)});
}

}  // namespace gw::ctld
