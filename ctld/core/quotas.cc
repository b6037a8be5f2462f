// The tree of quotas in the controller: where it comes from, who changes it, and what each job may submit to.
// Invariants: the rows of the store, book_ and what the scheduler was told are one and the same tree; a request that
// changes it is one transaction.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

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
  if (tree != quotas_) emit(sched::QosSet{tree});
  quotas_ = std::move(tree);
}

Status Controller::restore_quotas(const store::Snapshot& snapshot) {
  const bool is_seeded =
      std::any_of(snapshot.meta.begin(), snapshot.meta.end(), [](const auto& m) { return m.name == kSeeded; });
  if (!is_seeded) {
    save_quotas({}, book_);
    effects_.writes.push_back(store::PutMeta{kSeeded, "1"});
    return {};
  }
  QuotaBook stored;
  for (const store::NamedBytes& row : snapshot.qos) {
    wire::Qos qos;
    if (!qos.ParseFromString(row.bytes) || qos.name() != row.name)
      return base::fail(ErrorCode::kInternal, "the record of QOS " + row.name + " is damaged", "restore a backup");
    stored.qos[row.name] = wire::from_wire(qos);
  }
  for (const store::NamedBytes& row : snapshot.quota_users) {
    wire::QuotaUser user;
    if (!user.ParseFromString(row.bytes))
      return base::fail(ErrorCode::kInternal, "the record of user " + row.name + " is damaged", "restore a backup");
    stored.users[row.name] = {row.name, user.default_qos()};
  }
  if (const auto fault = model::check_qos_tree(stored.tree()))
    return base::fail(ErrorCode::kInternal, "the tree of QOS is damaged: " + fault->error.what, "restore a backup");
  book_ = std::move(stored);
  publish_quotas();
  return {};
}

/// The rows that differ.
void Controller::save_quotas(const QuotaBook& before, const QuotaBook& after) {
  for (const auto& [name, qos] : after.qos) {
    const auto old = before.qos.find(name);
    if (old == before.qos.end() || old->second != qos)
      effects_.writes.push_back(store::PutQos{name, wire::to_wire(qos).SerializeAsString()});
  }
  for (const auto& [name, qos] : before.qos)
    if (!after.qos.contains(name)) effects_.writes.push_back(store::DropQos{name});
  for (const auto& [name, user] : after.users) {
    const auto old = before.users.find(name);
    if (old == before.users.end() || old->second != user)
      effects_.writes.push_back(store::PutQuotaUser{name, to_wire(user).SerializeAsString()});
  }
  for (const auto& [name, user] : before.users)
    if (!after.users.contains(name)) effects_.writes.push_back(store::DropQuotaUser{name});
}

/// What the nodes of the configuration have, usable or not; empty while a node has never been heard of.
model::Amounts Controller::configured_amounts() const {
  model::Amounts out;
  for (const auto& [id, node] : nodes_) {
    if (!node.topology) return {};
    out["node"] += 1;
    out["cpu"] += node.topology->cores.size() * node.topology->threads_per_core();
    out["mem"] += node.topology->memory_mb;
    out["gpu"] += node.topology->gpus.size() * model::kWholeGpu;
    for (const model::Gpu& gpu : node.topology->gpus) out["gpu:" + base::to_lower(gpu.type)] += model::kWholeGpu;
  }
  return out;
}

size_t Controller::jobs_of(const std::string& qos) const {
  const auto of_users = submitted_.find(qos);
  if (of_users == submitted_.end()) return 0;
  size_t count = 0;
  for (const auto& [uid, jobs] : of_users->second) count += jobs;
  return count;
}

void Controller::count_submitted(const model::Job& job, int change) {
  uint32_t& count = submitted_[job.spec.qos][job.spec.uid];
  count += static_cast<uint32_t>(change);
  if (count != 0) return;
  submitted_[job.spec.qos].erase(job.spec.uid);
  if (submitted_[job.spec.qos].empty()) submitted_.erase(job.spec.qos);
}

/// Gives a job another QOS, whatever it does.
void Controller::move_to_qos(Time now, model::Job& job, const std::string& to) {
  // What it is charged for: the shares that were not discharged yet.
  int64_t rate = 0;
  if (job.placed() != nullptr)
    for (const model::NodeShare& share : job.placed()->allocation.shares)
      if (jobs_on_[share.node].contains(job.id)) rate += sched::usage_rate(share);
  if (rate != 0) charge(now, job, -rate);
  count_submitted(job, -1);
  if (job.spec.account == job.spec.qos) job.spec.account = to;
  job.spec.qos = to;
  count_submitted(job, 1);
  if (rate != 0) charge(now, job, rate);
  if (job.waiting() != nullptr) consider(now, job);
  if (ledger_.holdings().contains(job.id))
    emit(sched::RunningChanged{job.id, std::make_shared<const sched::PendingJob>(pending_of(job))});
  effects_.writes.push_back(store::PutJob{row_of(job, true)});
}

/// Jobs of deleted QOS go where the request says. Error: there are some, and it says nothing.
Status Controller::check_moves(const wire::ChangeQuotasRequest& request, const QuotaBook& after) const {
  std::map<std::string, std::string> targets;
  for (const wire::QuotaChange& change : request.changes())
    if (change.what() == wire::QuotaChange::kDelete && !change.is_user()) targets[change.name()] = change.move_to();
  for (const auto& [name, qos] : book_.qos) {
    if (after.qos.contains(name)) continue;
    const size_t jobs = jobs_of(name);
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
    for (auto& [id, job] : jobs_) {
      if (job.spec.qos != change.name() || model::is_end(job.state)) continue;
      move_to_qos(now, job, change.move_to());
      log_job(now, job, "updated",
              fmt::format("moved from QOS {} to {} by {}", change.name(), change.move_to(), caller.user), caller.uid);
    }
  }
}

namespace {

/// What the sides of a tree hold, and by which jobs that can be taken off.
struct Use {
  sched::QuotaTree tree;
  sched::Tally tally;
  std::map<uint32_t, std::vector<JobId>> takeable;  // by leaf
  explicit Use(const std::vector<Qos>& list) : tree(list), tally(tree) {}
};

using Over = std::map<std::string, std::string>;  // QOS -> how far it is above

/// Guarantees, and limits, that are exceeded.
Over exceeded(const Use& use) {
  Over out;
  for (uint32_t s = 1; s < use.tree.sides().size(); ++s) {
    const sched::Side& side = use.tree.side(s);
    if (side.is_own) continue;
    for (size_t r = 0; r < use.tree.width(); ++r) {
      const std::string& resource = use.tree.resources()[r];
      const uint64_t has = use.tally.counted[s][r];
      const auto text = [&](uint64_t amount) { return model::format_amount(resource, amount); };
      if (has > side.limit[r])
        out[side.name] += fmt::format("; holds {} {}, its limit is {}: no more of it starts", text(has), resource,
                                      text(side.limit[r]));
      else if (side.has_line[r] && has > side.guaranteed[r])
        out[side.name] += fmt::format("; holds {} {}, guaranteed {}: {} borrowed", text(has), resource,
                                      text(side.guaranteed[r]), text(has - side.guaranteed[r]));
    }
  }
  return out;
}

std::set<JobId> reclaimable(const Use& use, const Over& over) {
  std::set<JobId> out;
  for (const auto& [leaf, jobs] : use.takeable)
    for (uint32_t s = leaf; s != sched::kNoSide; s = use.tree.side(s).parent)
      if (over.contains(use.tree.side(s).name)) out.insert(jobs.begin(), jobs.end());
  return out;
}

/// Where a job of this QOS is after the changes.
std::string moved(std::string qos, const wire::ChangeQuotasRequest& request) {
  for (const wire::QuotaChange& change : request.changes())
    if (change.what() == wire::QuotaChange::kDelete && !change.is_user() && change.name() == qos &&
        !change.move_to().empty())
      qos = change.move_to();
  return qos;
}

}  // namespace

/// Who comes to stand above its quota by a change, and whose jobs can be taken back then. Nobody is taken by the change
/// itself (rule 10).
std::vector<std::string> Controller::effects_of(const QuotaBook& after,
                                                const wire::ChangeQuotasRequest& request) const {
  Use old_use(book_.tree()), new_use(after.tree());
  for (const auto& [id, holding] : ledger_.holdings()) {
    const auto job = jobs_.find(id);
    if (job == jobs_.end() || job->second.state == model::JobState::kCompleting) continue;
    const model::Allocation held = ledger_.allocation_of(id);
    const std::string& qos = job->second.spec.qos;
    for (Use* use : {&old_use, &new_use}) {
      const uint32_t leaf = use->tree.leaf_of(use == &old_use ? qos : moved(qos, request));
      use->tally.start(use->tree, leaf, use->tree.count(held, ledger_), true);
      if (pending_of(job->second).preemptible) use->takeable[leaf].push_back(id);
    }
  }
  const Over before = exceeded(old_use), now = exceeded(new_use);
  const std::set<JobId> could = reclaimable(old_use, before);
  std::vector<std::string> out, fresh;
  for (const auto& [name, how] : now)
    if (const auto old = before.find(name); old == before.end() || old->second != how)
      out.push_back(fmt::format("QOS {} {}", name, how.substr(2)));
  for (JobId id : reclaimable(new_use, now))
    if (!could.contains(id)) fresh.push_back(id.text());
  constexpr size_t kShown = 20;
  const size_t more = fresh.size() - std::min(fresh.size(), kShown);
  fresh.resize(fresh.size() - more);
  if (!fresh.empty())
    out.push_back(fmt::format("can be taken back now: {} {}{}", fresh.size() == 1 ? "job" : "jobs",
                              base::join(fresh, ", "), more > 0 ? fmt::format(" and {} more", more) : ""));
  return out;
}

void Controller::change_quotas(Time now, ConnId conn, const Caller& caller, const wire::ApiRequest& request) {
  const wire::ChangeQuotasRequest& wanted = request.change_quotas();
  std::vector<std::string> lines;
  const QuotaAuthor author{caller, is_admin(settings_, caller)};
  auto after = changed(book_, wanted, author, {configured_amounts(), settings_.policy.grace}, lines);
  if (!after) return reply_error(conn, request.id(), after.error());
  Status fits = check_moves(wanted, *after);
  if (fits) fits = check_partitions(partitions_, book_, *after);
  if (!fits) return reply_error(conn, request.id(), fits.error());
  wire::ApiReply out;
  wire::ChangeQuotasReply& told = *out.mutable_change_quotas();
  for (const std::string& line : lines) told.add_changes(line);
  for (const std::string& line : effects_of(*after, wanted)) told.add_effects(line);
  if (wanted.dry_run()) return reply(conn, request.id(), std::move(out));
  const QuotaBook before = std::exchange(book_, std::move(*after));
  save_quotas(before, book_);
  publish_quotas();
  carry_out_moves(now, caller, wanted);
  order_anew(now, before);
  for (const std::string& line : lines)
    effects_.writes.push_back(store::Event{now, {}, {}, "quotas changed", line + " by " + caller.user, caller.uid});
  note(fmt::format("quotas changed by {}: {}", caller.user, base::join(lines, "; ")));
  reply_change(now, conn, caller, request, std::move(out));
}

/// The priority of a QOS is one of the things that some orders rank its jobs by.
void Controller::order_anew(Time now, const QuotaBook& before) {
  std::set<std::string> others;
  for (const auto& [name, qos] : book_.qos)
    if (const auto old = before.qos.find(name); old != before.qos.end() && old->second.priority != qos.priority)
      others.insert(name);
  if (others.empty()) return;
  for (auto& [id, job] : jobs_)
    if (job.waiting() != nullptr && others.contains(job.spec.qos)) consider(now, job);
}

void Controller::list_quotas(Time now, ConnId conn, const wire::ApiRequest& request) {
  wire::ApiReply out;
  wire::ListQuotasReply& list = *out.mutable_list_quotas();
  for (const auto& [name, qos] : book_.qos) *list.add_qos() = wire::to_wire(qos);
  for (const auto& [name, user] : book_.users) *list.add_users() = to_wire(user);
  list.set_default_qos(settings_.default_qos);
  list.set_now_us(now.us);
  reply(conn, request.id(), std::move(out));
}

void Controller::ask_scheduler(ConnId conn, const wire::ApiRequest& request) {
  wire::ApiRequest asked = request;
  wire::ExplainQuotaRequest& explain = *asked.mutable_explain_quota();
  if (request.kind_case() != wire::ApiRequest::kExplainQuota) {
    effects_.out.push_back(AskScheduler{conn, request});
    return;
  }
  const auto settle = [&](uint32_t id, std::string* qos) -> Status {
    if (id != 0) {
      const model::Job* job = find_job(JobId(id));
      if (job == nullptr) return tl::unexpected(no_such_job(JobId(id)));
      *qos = job->spec.qos;
      return {};
    }
    if (*qos == model::kRootQos || *qos == settings_.default_qos || book_.qos.contains(*qos)) return {};
    return tl::unexpected(invalid_name(ErrorCode::kNotFound, "QOS", *qos, keys_of(book_.qos)));
  };
  for (const Status& done :
       {settle(explain.taker_job(), explain.mutable_taker()), settle(explain.from_job(), explain.mutable_from())})
    if (!done) return reply_error(conn, request.id(), done.error());
  effects_.out.push_back(AskScheduler{conn, std::move(asked)});
}

// ---- Submission

/// What a job that names no QOS runs at: the user's own, else the partition's, else the cluster's.
std::string Controller::default_qos_of(const std::string& user, const std::vector<std::string>& partitions) const {
  if (const auto own = book_.users.find(user); own != book_.users.end()) return own->second.default_qos;
  for (const std::string& name : partitions)
    if (const auto p = partitions_.find(name); p != partitions_.end() && !p->second.default_qos.empty())
      return p->second.default_qos;
  return settings_.default_qos;
}

bool Controller::has_qos(const std::string& name) const {
  return (book_.qos.contains(name) && name != model::kRootQos) || name == settings_.default_qos;
}

/// An account is a second name of a QOS; an explicit QOS wins.
Status Controller::check_qos(const Caller& caller, model::JobSpec& spec) const {
  std::string wanted = spec.qos.empty() ? spec.account : spec.qos;
  if (wanted.empty()) wanted = default_qos_of(spec.user, spec.partitions);
  if (!has_qos(wanted)) {
    std::vector<std::string> names = keys_of(book_.qos);
    names.push_back(settings_.default_qos);
    const bool is_account = spec.qos.empty() && !spec.account.empty();
    return tl::unexpected(invalid_name(ErrorCode::kInvalid, is_account ? "account" : "QOS", wanted, names));
  }
  if (!is_admin(settings_, caller) && !may_submit(book_, caller, wanted)) {
    std::vector<std::string> open;
    for (const auto& [name, qos] : book_.qos)
      if (name != model::kRootQos && may_submit(book_, caller, name)) open.push_back(name);
    return base::fail(ErrorCode::kDenied, fmt::format("user {} may not use QOS {}", caller.user, wanted),
                      open.empty() ? "no QOS is open to you: ask an administrator or an operator of one"
                                   : "you may use: " + base::join(open, ", "));
  }
  spec.qos = wanted;
  if (spec.account.empty()) spec.account = wanted;
  return {};
}

/// The longest time limit that the QOS and those above it allow.
base::Duration Controller::max_wall_of(const std::string& qos) const {
  base::Duration most = base::kUnlimited;
  for (const std::string& name : book_.path(qos))
    if (const auto it = book_.qos.find(name); it != book_.qos.end() && it->second.max_wall.us > 0)
      most = std::min(most, it->second.max_wall);
  return most;
}

/// max_wall, and for `more` new jobs max_submit.
Status Controller::check_caps(const model::JobSpec& spec, size_t more) const {
  for (const std::string& name : book_.path(spec.qos)) {
    const auto it = book_.qos.find(name);
    if (it == book_.qos.end()) continue;
    const Qos& qos = it->second;
    if (qos.max_wall.us > 0 && spec.time_limit > qos.max_wall)
      return base::invalid(
          fmt::format("the time limit {} is longer than QOS {} allows: {}", base::format_duration(spec.time_limit),
                      name, base::format_duration(qos.max_wall)),
          "give a shorter --time");
    if (more == 0 || (qos.max_submit == 0 && qos.max_submit_per_user == 0)) continue;
    size_t all = 0, own = 0;
    std::vector<std::string> members = book_.below(name);
    members.push_back(name);
    for (const std::string& member : members) {
      const auto of_users = submitted_.find(member);
      if (of_users == submitted_.end()) continue;
      all += jobs_of(member);
      if (const auto mine = of_users->second.find(spec.uid); mine != of_users->second.end()) own += mine->second;
    }
    const auto full = [&](std::string_view key, size_t there, uint32_t most, std::string_view whose) {
      return base::fail(ErrorCode::kUnavailable,
                        fmt::format("QOS {} takes at most {} waiting and running ({}); {} {} there", name,
                                    base::counted(most, "job"), key, there, whose),
                        "wait until some have ended");
    };
    if (qos.max_submit > 0 && all + more > qos.max_submit) return full("max_submit", all, qos.max_submit, "are");
    if (qos.max_submit_per_user > 0 && own + more > qos.max_submit_per_user)
      return full("max_submit_per_user", own, qos.max_submit_per_user, "of yours are");
  }
  return {};
}

}  // namespace gw::ctld
