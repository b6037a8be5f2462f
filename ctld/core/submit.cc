// Submission: identity, partition, QOS and limits are checked, what no partition could ever run is refused, and the job
// enters the queue in the same transaction as its id.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "ctld/core/controller.h"
#include "ctld/core/names.h"
#include "ctld/core/spec_rules.h"
#include "sched/place.h"
#include "wire/bounds.h"
#include "wire/convert.h"

namespace gw::ctld {
namespace {

bool lists(const std::vector<std::string>& list, const std::string& name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

}  // namespace

base::Status Controller::check_identity(const Caller& caller, const wire::SubmitRequest& request) const {
  if (caller.uid == 0 && !settings_.allow_root_jobs)
    return base::fail(base::ErrorCode::kDenied, "root may not submit jobs",
                      "submit as an ordinary user, or set jobs.allow_root_jobs: true");
  if (request.script().empty() && request.spec().kind() == 0) return base::invalid("the batch script is empty");
  if (request.spec().request().cpus_per_task() == 0) return base::invalid("-c/--cpus-per-task: a task needs a CPU");
  if (request.script().size() > settings_.max_script_bytes)
    return base::invalid(fmt::format("the batch script has {} bytes; at most {} are taken", request.script().size(),
                                     settings_.max_script_bytes),
                         "keep data out of the script, or raise jobs.max_script_bytes");
  size_t options = request.spec().ByteSizeLong();
  for (const wire::JobSpec& component : request.components()) options += component.ByteSizeLong();
  if (options > wire::kMostSpecBytes)
    return base::invalid(
        fmt::format("the options of the job take {} bytes; at most {} are taken", options, wire::kMostSpecBytes),
        "shorten the arguments, the comment or the node lists");
  if (jobs_.live() + static_cast<size_t>(request.components_size()) >= settings_.max_jobs)
    return base::fail(base::ErrorCode::kUnavailable,
                      fmt::format("the queue is full: {} jobs (jobs.max_jobs)", settings_.max_jobs), "try again later");
  return {};
}

base::Status Controller::check_partition(const Caller& caller, const model::JobSpec& spec,
                                         const model::Partition& p) const {
  if (p.state == model::PartitionState::kDrain || p.state == model::PartitionState::kInactive)
    return base::fail(base::ErrorCode::kUnavailable,
                      fmt::format("partition {} takes no new jobs: it is {}", p.name, model::name(p.state)));
  const bool by_group = std::any_of(caller.groups.begin(), caller.groups.end(),
                                    [&](const std::string& g) { return lists(p.allow_groups, g); });
  const bool restricted = !p.allow_users.empty() || !p.allow_groups.empty();
  const bool admin = is_admin(settings_, caller);
  if (!admin && (lists(p.deny_users, caller.user) || (restricted && !lists(p.allow_users, caller.user) && !by_group)))
    return base::fail(base::ErrorCode::kDenied, fmt::format("user {} may not use partition {}", caller.user, p.name),
                      "ask an administrator, or name another partition");
  if (!p.allow_qos.empty() && !lists(p.allow_qos, spec.qos))
    return base::fail(base::ErrorCode::kDenied, fmt::format("partition {} does not take QOS {}", p.name, spec.qos),
                      "it takes " + base::join(p.allow_qos, ", "));
  return {};
}

/// Where a job goes that names no partition: pools for jobs of its kind, else the default one.
void Controller::choose_partitions(model::JobSpec& spec) const {
  if (!spec.partitions.empty()) return;
  const bool compute = spec.request.gpus > 0;
  for (const auto& [name, p] : partitions_)
    if (compute ? p.default_for_compute : p.default_for_aux) spec.partitions.push_back(name);
  for (const auto& [name, p] : partitions_)
    if (spec.partitions.empty() && p.is_default) spec.partitions.push_back(name);
}

base::Status Controller::route(const Caller& caller, model::JobSpec& spec) const {
  choose_partitions(spec);
  if (spec.partitions.empty())
    return base::invalid("no partition named and none is the default",
                         "name one with --partition: " + base::join(keys_of(partitions_), ", "));
  for (const std::string& name : spec.partitions) {
    const auto it = partitions_.find(name);
    if (it == partitions_.end())
      return tl::unexpected(invalid_name(base::ErrorCode::kInvalid, "partition name", name, keys_of(partitions_)));
    GW_TRY_STATUS(check_partition(caller, spec, it->second));
  }
  return {};
}

/// No time at all is what a submission says that asks for none: the partition's default. kUnlimited was asked for.
base::Status Controller::check_time(model::JobSpec& spec, bool is_admin_caller) const {
  if (spec.time_limit < base::Duration{})
    return base::invalid("the time limit is negative", "give --time as minutes or [D-]HH:MM:SS");
  base::Duration most = base::Duration{0}, fallback = base::Duration{0};
  bool unlimited_somewhere = false;
  for (const std::string& name : spec.partitions) {
    const auto it = partitions_.find(name);
    if (it == partitions_.end())
      return base::invalid("partition " + name + " is not there any more", "name another one");
    const model::Partition& p = it->second;
    most = std::max(most, p.max_time);
    fallback = std::max(fallback, p.default_time == base::kUnlimited ? p.max_time : p.default_time);
    unlimited_somewhere |= p.unlimited || p.max_time == base::kUnlimited;
  }
  if (spec.time_limit == base::Duration{}) {
    spec.time_limit = fallback;
    return {};
  }
  if (!unlimited_somewhere && spec.time_limit > most && !is_admin_caller)
    return base::invalid(
        fmt::format("requested time limit is invalid: {} asked; partition {} allows {}",
                    base::format_duration(spec.time_limit), spec.partitions.front(), base::format_duration(most)),
        "ask for less, or leave --time out for the partition's default");
  return {};
}

base::Status Controller::check_runnable(const model::JobSpec& spec) const {
  base::Status first;
  for (const std::string& name : spec.partitions) {
    const sched::PartitionFacts* facts = ledger_.capacity().partition(name);
    if (facts == nullptr) continue;
    const base::Status verdict = sched::could_ever_run(ledger_.capacity(), *facts, model::least_of(spec.request));
    if (verdict) return {};
    if (first) first = verdict;
  }
  return first;
}

base::Result<model::JobSpec> Controller::accept_spec(Time now, const Caller& caller, const wire::SubmitRequest& request,
                                                     std::vector<std::string>& warnings) const {
  GW_TRY_STATUS(check_identity(caller, request));
  GW_TRY(spec, wire::from_wire(request.spec()));
  spec.uid = caller.uid;
  spec.gid = caller.gid;
  spec.user = caller.user;
  spec.group = caller.group;
  if (spec.name.empty()) spec.name = "sbatch";
  if (spec.launch.work_dir.empty() || spec.launch.work_dir[0] != '/')
    return base::invalid("the working directory is not an absolute path: " + base::printable(spec.launch.work_dir));
  GW_TRY_STATUS(settle_spec(spec));
  accept_kind(spec);
  route_by_reservation(spec);
  choose_partitions(spec);
  GW_TRY_STATUS(check_qos(caller, spec));
  GW_TRY_STATUS(route(caller, spec));
  const bool admin = is_admin(settings_, caller);
  const bool is_timed = spec.time_limit != base::Duration{};
  GW_TRY_STATUS(check_time(spec, admin));
  if (!is_timed) spec.time_limit = std::min(spec.time_limit, max_wall_of(spec.qos));
  GW_TRY_STATUS(check_caps(spec, 1 + static_cast<size_t>(request.components_size())));
  GW_TRY_STATUS(model::check_times(spec, now));
  GW_TRY_STATUS(check_reservation(spec));
  if (!admin && spec.priority > 0) {
    warnings.push_back("only administrators may set a priority: ignored");
    spec.priority = 0;
  }
  if (!admin && spec.nice < 0) {
    warnings.push_back("only administrators may set a negative nice: 0 is used");
    spec.nice = 0;
  }
  spec.hold_admin = spec.hold_admin && admin;
  GW_TRY_STATUS(check_preemption(spec, warnings));
  GW_TRY_STATUS(check_runnable(spec));
  return spec;
}

/// Where a job would start now; what is in the way otherwise goes to `obstacles`.
std::optional<sched::Start> Controller::try_start(Time now, const model::JobSpec& spec,
                                                  std::vector<std::string>& obstacles) const {
  sched::PendingJob pending;
  pending.uid = spec.uid;
  pending.reservation = spec.reservation;
  sched::AdvanceReservations reservations = advance_;
  sched::Timeline timeline;
  sched::book_reservations(reservations, ledger_.capacity(), now, timeline);
  sched::Look look;
  look.timeline = &timeline;
  look.span = {now, now + spec.time_limit};
  if (!spec.reservation.empty()) {
    reservations.at(spec.reservation).users.insert(spec.uid);  // it was asked already whether it may
    if (const auto why = sched::why_closed(reservations, pending, now, spec.time_limit)) {
      obstacles.push_back(*why);
      return std::nullopt;
    }
    look.reservation = spec.reservation;
    look.inside = &reservations.at(spec.reservation).nodes;
  }
  for (const std::string& name : spec.partitions) {
    const sched::PartitionFacts* facts = ledger_.capacity().partition(name);
    if (facts == nullptr) continue;
    sched::Placement placement = sched::place(ledger_.capacity(), *facts, model::least_of(spec.request), look);
    if (placement.allocation) return sched::Start{{}, name, std::move(*placement.allocation), spec.time_limit};
    obstacles.push_back(sched::explain(placement.census, name));
  }
  return std::nullopt;
}

void Controller::test_only(Time now, ConnId conn, const wire::ApiRequest& request,
                           const std::vector<model::JobSpec>& components, const std::vector<std::string>& warnings) {
  wire::ApiReply out;
  wire::SubmitReply& verdict = *out.mutable_submit();
  std::vector<std::string> obstacles, places;
  for (const model::JobSpec& spec : components) {
    auto start = try_start(now, spec, obstacles);
    if (!start) break;
    std::string where;
    for (const model::NodeShare& s : start->allocation.shares)
      where += fmt::format("{}{}: {} task{}, {} CPU{}, {}{}", where.empty() ? "" : "; ", s.name, s.tasks,
                           s.tasks == 1 ? "" : "s", s.cpus, s.cpus == 1 ? "" : "s", base::format_memory_mb(s.mem_mb),
                           s.gpus.empty() ? "" : ", GPUs " + s.gpus.text());
    places.push_back("in partition " + start->partition + " on " + where);
    // The next component finds this one in its place. No job has such an id.
    const JobId taken(UINT32_MAX - static_cast<uint32_t>(places.size()));
    (void)ledger_.for_trial().allocate(taken, start->partition, start->allocation, now, Time::never());
  }
  for (size_t k = 1; k <= places.size(); ++k)
    ledger_.for_trial().release_all(JobId(UINT32_MAX - static_cast<uint32_t>(k)));
  if (places.size() == components.size()) {
    verdict.set_estimated_start_us(now.us);
    verdict.set_test_verdict("would start now " + base::join(places, " : "));
  } else {
    verdict.set_test_verdict("would wait: " + base::join(obstacles, "; "));
  }
  for (const std::string& w : warnings) verdict.add_warnings(w);
  verdict.set_cluster(settings_.cluster);
  out_.reply(conn, request.id(), std::move(out));
}

JobId Controller::enter(Time now, const wire::SubmitRequest& request, model::JobSpec first,
                        std::vector<model::JobSpec> components) {
  const JobId id = jobs_.next();
  std::vector<model::JobSpec> all;
  all.push_back(std::move(first));
  std::move(components.begin(), components.end(), std::back_inserter(all));
  if (all.front().kind == model::JobKind::kBatch) {
    out_.write(store::PutBlob{all.front().launch.script_hash, request.script()});
    out_.write(store::PutBlob{all.front().launch.env_hash, request.environment(), true});
  }
  std::vector<model::Job*> entered;
  for (model::JobSpec& spec : all) {
    spec.het_job = all.size() > 1 ? id : JobId();
    spec.het_offset = static_cast<uint32_t>(entered.size());
    spec.het_size = all.size() > 1 ? static_cast<uint32_t>(all.size()) : 0;
    entered.push_back(&jobs_.enter(now, std::move(spec)));
    consider(now, *entered.back());
  }
  for (const model::Job* job : entered) {
    book_job(*job, wire::to_wire(job->spec).ByteSizeLong(), {job->spec.launch.script_hash, request.script().size()},
             {job->spec.launch.env_hash, request.environment().size()});
    rows_.job_and_spec(*job);
    out_.job_event(now, *job, "submitted", fmt::format("by {} from {}", job->spec.user, job->spec.submit_host),
                   job->spec.uid);
  }
  return id;
}

void Controller::submit(Time now, ConnId conn, const Caller& caller, const wire::ApiRequest& request) {
  const wire::SubmitRequest& submit = request.submit();
  std::vector<std::string> warnings;
  auto spec = accept_spec(now, caller, submit, warnings);
  if (!spec) return out_.refuse(conn, request.id(), spec.error());
  auto components = accept_components(now, caller, submit, *spec);
  if (!components) return out_.refuse(conn, request.id(), components.error());
  auto first_step = accept_first_step(conn, *spec, submit);
  if (!first_step) return out_.refuse(conn, request.id(), first_step.error());
  if (submit.test_only()) {
    components->insert(components->begin(), std::move(*spec));
    return test_only(now, conn, request, *components, warnings);
  }
  if (const base::Status room = admit_jobs(caller, submit, *spec); !room)
    return out_.refuse(conn, request.id(), room.error());
  if (!jobs_.has_numbers_for(components->size() + 1))
    return out_.refuse(conn, request.id(),
                       {base::ErrorCode::kConflict, "all job numbers are used up", "begin with a new state folder"});
  const JobId id = enter(now, submit, std::move(*spec), std::move(*components));
  attend(conn, jobs_.at(id));
  if (*first_step) waiting_steps_[id].push_back(std::move(**first_step));
  wire::ApiReply out;
  out.mutable_submit()->set_job_id(id.value);
  out.mutable_submit()->set_cluster(settings_.cluster);
  for (const std::string& w : warnings) out.mutable_submit()->add_warnings(w);
  reply_change(now, conn, caller, request, std::move(out));
}

}  // namespace gw::ctld
