// See update_job.h.
#include "ctld/core/admission/update_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/hostlist.h"
#include "base/text.h"
#include "ctld/core/admission/budgets.h"
#include "ctld/core/admission/dependency.h"
#include "ctld/core/admission/kinds.h"
#include "ctld/core/admission/routing.h"
#include "ctld/core/cluster/quota_feed.h"
#include "ctld/core/cluster/quota_rules.h"
#include "ctld/core/cluster/reservation_rules.h"
#include "ctld/core/jobs/corresponding.h"
#include "ctld/core/jobs/dependencies.h"
#include "ctld/core/jobs/eligibility.h"
#include "ctld/core/jobs/facts.h"
#include "ctld/core/jobs/limits.h"
#include "ctld/core/jobs/suspend.h"
#include "ctld/core/jobs/targets.h"
#include "ctld/core/names.h"
#include "ctld/core/rows/spec_rules.h"
#include "ctld/core/shared/permissions.h"
#include "ctld/core/shared/replies.h"
#include "model/named_counts.h"
#include "model/sentences.h"
#include "wire/bounds.h"
#include "wire/convert.h"
#include "wire/job_attributes.h"

namespace gw::ctld {

using model::Job;

namespace {

/// Fields that a job may only be given while it waits.
bool changes_place(const wire::UpdateJobRequest& u) { return wire::says_where_to_run(u); }

/// All but when it may start, and after whom, is as before: it need not fit anew. A job that can run nowhere any more,
/// because its partition or its reservation is gone, can still be given another dependency.
bool is_as_before(const model::JobSpec& before, const model::JobSpec& after) {
  model::JobSpec same = after;
  same.dependency = before.dependency;
  same.begin = before.begin;
  return same == before;
}

/// In place of when it ends the limit that comes to the same.
base::Result<wire::UpdateJobRequest> with_limit_until(const Job& job, const wire::UpdateJobRequest& u) {
  if (u.has_time_limit_us() || u.has_time_limit_change_us())
    return base::invalid("EndTime and TimeLimit exclude each other", "give one of them");
  if (job.state != model::JobState::kRunning || job.placed() == nullptr || !job.placed()->started)
    return base::fail(base::ErrorCode::kConflict, fmt::format("EndTime: job {} does not run", job.id.value),
                      "TimeLimit= says how long it may");
  const base::Duration limit = Time{u.end_us()} - job.placed()->running_since();
  if (limit <= base::Duration{}) return base::invalid(fmt::format("EndTime: job {} started after that", job.id.value));
  wire::UpdateJobRequest whole = u;
  whole.clear_end_us();
  whole.set_time_limit_us(limit.us);
  return whole;
}

/// With the job's limit as a whole where its change was said.
base::Result<wire::UpdateJobRequest> with_whole_limit(const Job& job, const wire::UpdateJobRequest& u) {
  wire::UpdateJobRequest whole = u;
  if (u.has_end_us()) return with_limit_until(job, u);
  if (!u.has_time_limit_change_us()) return whole;
  if (u.has_time_limit_us()) return base::invalid("TimeLimit: a limit and a change of it");
  const base::Duration change{u.time_limit_change_us()};
  if (job.spec.time_limit == base::kUnlimited)
    return base::fail(base::ErrorCode::kConflict,
                      fmt::format("job {} has no time limit: there is nothing to add to", job.id.value),
                      "TimeLimit=TIME gives it one");
  if (job.spec.time_limit + change <= base::Duration{})
    return base::invalid(fmt::format("TimeLimit: job {} has a limit of {}: nothing would be left", job.id.value,
                                     base::format_duration(job.spec.time_limit)));
  whole.set_time_limit_us((job.spec.time_limit + change).us);
  return whole;
}

/// What is said once is kept with each job.
base::Status check_total(const wire::UpdateJobRequest& u, const std::vector<Target>& targets) {
  constexpr size_t kMost = 16 << 20;
  wire::UpdateJobRequest each = u;
  each.clear_ids();
  each.clear_tasks();
  size_t jobs = 0;
  for (const Target& target : targets) jobs += std::max<size_t>(target.jobs.size(), 1);
  const size_t bytes = each.ByteSizeLong() * jobs;
  if (bytes <= kMost) return {};
  return base::invalid(fmt::format("an update of {} bytes for each of {} jobs: {} bytes; at most {} are taken",
                                   each.ByteSizeLong(), jobs, bytes, kMost),
                       "update fewer jobs at once");
}

base::Status update_limits(const Core& core, const Caller& caller, const Job& job, model::JobSpec& spec,
                           const wire::UpdateJobRequest& u) {
  const bool admin = role_for(core, caller, job) == Role::kAdmin;
  if (u.has_time_limit_us()) {
    const base::Duration limit{u.time_limit_us()};
    if (limit.us <= 0) return base::invalid("the time limit is not positive");
    if (!admin && limit > spec.time_limit && job.waiting() == nullptr)
      return base::fail(base::ErrorCode::kDenied, "only administrators may raise the limit of a running job");
    spec.time_limit = limit;
  }
  if (u.has_priority()) {
    if (!admin && u.priority() > spec.priority)
      return base::fail(base::ErrorCode::kDenied, "only administrators may raise a priority");
    spec.priority = u.priority();
  }
  if (u.has_nice()) {
    if (!admin && u.nice() < spec.nice)
      return base::fail(base::ErrorCode::kDenied, "only administrators may lower the nice value");
    spec.nice = u.nice();
  }
  if (u.has_name()) {
    if (u.name().empty()) return base::invalid("a job has a name", "give JobName= at least one letter");
    spec.name = u.name();
  }
  return {};
}

/// Those of the job, of each node or of each task, whatever there were before.
base::Status update_gres(model::Request& r, const wire::GresUpdate& u) {
  const bool has_some = u.gpus() > 0;
  if (has_some != (u.gpu_counting() != 0)) return base::invalid("Gres: a number of GPUs, and of what, go together");
  r.gpu_counting = static_cast<model::GpuCounting>(u.gpu_counting());
  r.gpus = u.gpus();
  r.gpu_type = has_some ? u.gpu_type() : "";
  r.gpu_milli = has_some && u.has_gpu_milli() ? u.gpu_milli() : model::kWholeGpu;
  if (!u.says_others()) return {};
  GW_TRY(others, wire::gres_from(u.others()));
  r.gres = std::move(others);
  return {};
}

/// As many tasks as have so many CPUs.
base::Status update_cpu_count(model::Request& r, const wire::UpdateJobRequest& u) {
  if (u.has_task_count()) return base::invalid("NumCPUs and NumTasks exclude each other", "give one of them");
  if (r.cpus_per_gpu > 0 || r.gpu_counting == model::GpuCounting::kPerTask)
    return base::invalid("NumCPUs: tasks, GPUs and CPUs of this job follow from each other",
                         "NumTasks=, CPUsPerTask= and TresPerTask= change them");
  const uint32_t each = std::max(r.cpus_per_task, 1U);
  if (u.cpu_count() == 0 || u.cpu_count() % each != 0)
    return base::with_sentence(
        base::invalid(fmt::format("NumCPUs={} is not a multiple of the {} CPUs of a task", u.cpu_count(), each),
                      "CPUsPerTask= changes these"),
        model::kCpuCountSentence);
  r.tasks_given = true;
  r.tasks = u.cpu_count() / each;
  return {};
}

base::Status update_size(model::Request& r, const wire::UpdateJobRequest& u) {
  if (u.has_tasks_per_node()) r.tasks_per_node = u.tasks_per_node();
  if (u.has_tmp_mb()) r.tmp_mb = u.tmp_mb();
  if (u.has_sockets()) r.sockets = u.sockets();
  if (u.has_socket_cores()) r.socket_cores = u.socket_cores();
  if (u.has_core_threads()) {
    if (u.core_threads() > 0) r.whole_cores = u.core_threads() == 1;
    r.core_threads = u.core_threads() == 1 ? 0 : u.core_threads();
  }
  if (u.has_contiguous()) r.contiguous = u.contiguous();
  if (u.has_exclusive()) r.exclusive = u.exclusive();
  if (u.has_gres()) GW_TRY_STATUS(update_gres(r, u.gres()));
  if (u.has_task_count()) {
    r.tasks_given = true;
    r.tasks = u.task_count();
  }
  if (u.has_cpus_per_task()) {
    r.cpus_per_task = u.cpus_per_task();
    r.cpus_per_gpu = 0;
    r.cpus_by_gpus = false;
  }
  if (u.has_cpu_count()) GW_TRY_STATUS(update_cpu_count(r, u));
  if (u.has_min_cpus()) r.min_cpus = u.min_cpus();
  if (u.has_mem_per_node_mb() && u.has_mem_per_cpu_mb())
    return base::invalid("MinMemoryNode and MinMemoryCPU exclude each other", "give one of them");
  if (!u.has_mem_per_node_mb() && !u.has_mem_per_cpu_mb()) return {};
  r.mem_per_node_mb = u.mem_per_node_mb();
  r.mem_per_cpu_mb = u.mem_per_cpu_mb();
  r.mem_all = u.has_mem_per_node_mb() && u.mem_per_node_mb() == 0;
  r.mem_per_task_mb = r.mem_per_gpu_mb = 0;
  return {};
}

/// A job's processes open these, and run there, as its owner: whoever could set them would act as the owner, whatever
/// else he may change of the job.
base::Status update_files(const Caller& caller, uint32_t owner, model::Launch& launch,
                          const wire::UpdateJobRequest& u) {
  const bool is_asked = u.has_work_dir() || u.has_std_out() || u.has_std_err() || u.has_std_in();
  if (is_asked && caller.uid != owner && caller.uid != 0)
    return base::fail(base::ErrorCode::kDenied, "WorkDir, StdOut, StdErr and StdIn are for the job's owner alone",
                      "leave them as they are, or ask the owner");
  if (u.has_work_dir() && !u.work_dir().starts_with('/'))
    return base::invalid("WorkDir: no absolute path", "begin it with a slash");
  if (u.has_std_out()) launch.std_out = u.std_out();
  if (u.has_std_err()) launch.std_err = u.std_err();
  if (u.has_std_in()) launch.std_in = u.std_in();
  if (u.has_work_dir()) launch.work_dir = u.work_dir();
  return {};
}

base::Status update_place(const Core& core, const Caller& caller, const NamedTasks& named, model::JobSpec& spec,
                          const wire::UpdateJobRequest& u) {
  const Job& job = core.jobs.at(named.job);
  const bool moves = changes_place(u);
  if (moves && job.waiting() == nullptr)
    return base::with_sentence(
        base::fail(base::ErrorCode::kConflict, fmt::format("job {} is not pending", job.id.value),
                   "only " + wire::keys_while_running() + " can change once it runs"),
        model::kNotPendingSentence);
  GW_TRY_STATUS(wire::take_plain(u, role_for(core, caller, job) == Role::kAdmin, spec));
  if (u.has_account()) GW_TRY_STATUS(check_account(core, caller, u.account()));
  if (u.has_qos() || selects_qos(core, u.account())) spec.qos = u.qos();
  if (u.has_partition()) spec.partitions = base::split(u.partition(), ',');
  if (u.has_features()) {
    GW_TRY(features, model::parse_features(u.features()));
    spec.request.features = features;
  }
  if (u.has_min_nodes()) {
    spec.request.nodes_given = true;
    spec.request.min_nodes = u.min_nodes();
    spec.request.max_nodes = u.has_max_nodes() ? u.max_nodes() : u.min_nodes();
  }
  GW_TRY_STATUS(update_size(spec.request, u));
  GW_TRY_STATUS(update_files(caller, spec.uid, spec.launch, u));
  if (u.has_nodelist()) {
    GW_TRY(names, base::expand_hostlist(u.nodelist(), wire::kMostNodeNames));
    spec.request.nodelist = names;
  }
  if (u.has_exclude()) {
    GW_TRY(names, base::expand_hostlist(u.exclude(), wire::kMostNodeNames));
    spec.request.exclude = names;
  }
  if (u.has_dependency()) {
    GW_TRY_STATUS(check_dependency(core, caller, u.dependency(), named));
    spec.dependency = u.dependency();
  }
  if (u.has_max_switches()) {
    spec.request.max_switches = u.max_switches();
    spec.request.switches_wait.us = u.has_switches_wait_us() ? u.switches_wait_us() : base::kUnlimited.us;
  }
  // What holds of every spec holds of this one, whichever fields were changed.
  GW_TRY_STATUS(settle_spec(spec));
  if (!moves || is_as_before(job.spec, spec)) return {};
  GW_TRY_STATUS(check_qos(core, caller, spec));
  GW_TRY_STATUS(route(core, caller, spec, true, &job.spec));
  return check_runnable(core, spec);
}

base::Result<model::JobSpec> updated_spec(const Core& core, const Caller& caller, const NamedTasks& named,
                                          const wire::UpdateJobRequest& said) {
  const Job& job = core.jobs.at(named.job);
  if (!is_allowed(Grant::kOwnJobs, role_for(core, caller, job))) return tl::unexpected(denied_job(core, caller, job));
  if (model::is_end(job.state))
    return base::with_sentence(
        base::fail(base::ErrorCode::kConflict,
                   fmt::format("job {} has ended already: {}", job.id.value, model::long_name(job.state))),
        model::kFinishedSentence);
  GW_TRY(u, with_whole_limit(job, said));
  model::JobSpec spec = job.spec;
  GW_TRY_STATUS(update_limits(core, caller, job, spec, u));
  GW_TRY_STATUS(update_place(core, caller, named, spec, u));
  if (u.has_deadline_us()) {
    if (u.deadline_us() < 0) return base::invalid("Deadline: no sensible time");
    spec.deadline = Time{u.deadline_us()};
  }
  const bool moves = changes_place(u) && !is_as_before(job.spec, spec);
  if (u.has_time_limit_us() || moves)
    GW_TRY_STATUS(check_time(core, spec, role_for(core, caller, job) == Role::kAdmin));
  const bool is_elsewhere = spec.qos != job.spec.qos;
  if ((u.has_time_limit_us() || is_elsewhere) && role_for(core, caller, job) != Role::kAdmin)
    GW_TRY_STATUS(check_caps(core, spec, is_elsewhere ? 1 : 0));
  if (job.waiting() == nullptr) return spec;
  if (changes_place(u) || u.has_time_limit_us() || u.has_deadline_us())
    GW_TRY_STATUS(model::check_times(spec, core.now));
  if (moves || u.has_time_limit_us()) GW_TRY_STATUS(check_reservation(core, spec));
  return spec;
}

/// "TimeLimit 1:00:00 -> 2:00:00, Comment": what is changed, and of what is short from what to what.
std::string what_changes(const model::JobSpec& before, const model::JobSpec& after, const wire::UpdateJobRequest& u) {
  const auto pair = [](const std::string& from, const std::string& to) {
    return from == to ? "" : fmt::format(" {} -> {}", from, to);
  };
  const std::map<std::string_view, std::string> values = {
      {"TimeLimit", pair(base::format_duration(before.time_limit), base::format_duration(after.time_limit))},
      {"Priority", pair(std::to_string(before.priority), std::to_string(after.priority))},
      {"QOS", pair(before.qos, after.qos)},
      {"Partition", pair(base::join(before.partitions, ","), base::join(after.partitions, ","))}};
  std::vector<std::string> out;
  for (const wire::JobAttribute& a : wire::kJobAttributes) {
    if (a.update.field.is_set == nullptr || !a.update.field.is_set(u)) continue;
    const auto value = values.find(a.update.key);
    out.push_back(std::string(a.update.key) + (value == values.end() ? "" : value->second));
  }
  return base::join(out, ", ");
}

void take_spec(Core& core, const Caller& caller, Job& job, model::JobSpec spec, const wire::UpdateJobRequest& u) {
  const std::string what = what_changes(job.spec, spec, u);
  const bool is_elsewhere = job.spec.qos != spec.qos;
  // What somebody said since holds also when it runs again.
  if (job.placed() != nullptr && spec.time_limit != job.spec.time_limit) job.placed()->uncut_limit = {};
  const bool depends_anew = job.spec.dependency != spec.dependency;
  if (job.spec.name != spec.name) core.post(JobRenamed{job.spec.uid, job.spec.name});
  core.jobs.change_spec(job, std::move(spec));
  if (depends_anew) begin_to_depend(core, job);
  if (job.waiting() != nullptr)
    update_eligibility(core, job);
  else if (job.state == model::JobState::kRunning)
    arm_limits(core, job);
  else if (is_suspended(job))
    tell_of_suspended(core, job);
  if (job.placed() != nullptr && !is_suspended(job)) tell_of_running(core, job);
  if (is_elsewhere) core.planning.quota_epoch = core.feed.epoch();
  if (job.state == model::JobState::kRunning || job.state == model::JobState::kConfiguring)
    expect_end(core, job,
               (job.placed()->started ? job.placed()->running_since() : job.placed()->placed) + job.spec.time_limit);
  core.clients.charges.resize(job.id, bytes_of(job.spec) + bytes_of_ranges(core, job));
  core.rows.job_and_spec(job);
  core.out.job_event(job, "updated", fmt::format("{}{}by {}", what, what.empty() ? "" : " ", caller.user), caller.uid);
  if (depends_anew && job.spec.is_array() && job.waiting() != nullptr) give_up_corresponding(core, job);
}

/// Where they are what changes: all components have them together.
base::Status check_changed_licenses(const Core& core, const std::vector<SpecOf>& updated) {
  bool have_changed = false;
  model::Licenses all;
  for (const auto& [job, spec] : updated) {
    have_changed |= spec.licenses != core.jobs.at(job).spec.licenses;
    GW_TRY(own, model::parse_licenses(spec.licenses));
    for (const auto& [name, count] : own) all[name] += count;
  }
  return have_changed ? check_licenses(core, all) : base::Status();
}

}  // namespace

/// What says how many resources, and where, is a component's own; everything else the components have in common.
base::Result<std::vector<SpecOf>> specs_after(const Core& core, const Caller& caller, JobId id,
                                              const wire::UpdateJobRequest& change) {
  const Job& job = core.jobs.at(id);
  wire::UpdateJobRequest common = change;
  wire::clear_own_of_component(common);
  std::vector<SpecOf> updated;
  GW_TRY(own, updated_spec(core, caller, {id, {}}, change));
  updated.emplace_back(id, std::move(own));
  for (const JobId other : other_components(core, job)) {
    GW_TRY(spec, updated_spec(core, caller, {other, {}}, common));
    updated.emplace_back(other, std::move(spec));
  }
  GW_TRY_STATUS(check_changed_licenses(core, updated));
  return updated;
}

namespace {

base::Status update_with_components(Core& core, const Caller& caller, Job& job, const wire::UpdateJobRequest& u) {
  GW_TRY(updated, specs_after(core, caller, job.id, u));
  size_t before = 0, after = 0;
  for (const auto& [one, spec] : updated) {
    before += core.clients.charges.row_bytes(one);
    after += bytes_of(spec) + bytes_of_ranges(core, core.jobs.at(one));
  }
  GW_TRY_STATUS(admit_growth(core, caller, job.spec.uid, before, after));
  for (auto& [one, spec] : updated) take_spec(core, caller, core.jobs.at(one), std::move(spec), u);
  return {};
}

/// Of a part of an array perhaps some tasks alone: which are cut off once it is known that they may be changed so.
base::Status update_named(Core& core, const Caller& caller, const NamedTasks& named, const wire::UpdateJobRequest& u) {
  Job& job = core.jobs.at(named.job);
  if (u.has_array_throttle() && !job.spec.array)
    return base::fail(base::ErrorCode::kConflict,
                      fmt::format("ArrayTaskThrottle: job {} is no task of an array", job.id.value));
  wire::UpdateJobRequest of_job = u;
  of_job.clear_array_throttle();
  if (named.some.empty() || of_job.ByteSizeLong() == 0) {  // the throttle is the whole array's
    GW_TRY_STATUS(update_with_components(core, caller, job, u));
  } else {
    if (auto may = updated_spec(core, caller, named, u); !may) return tl::unexpected(may.error());
    GW_TRY(part, cut_off(core, named, CutTo::kWait));
    GW_TRY_STATUS(update_with_components(core, caller, *part, u));
  }
  if (u.has_array_throttle()) set_throttle(core, job.spec.array->job, u.array_throttle());
  return {};
}

}  // namespace

void update_job(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request) {
  const wire::UpdateJobRequest& asked = request.update_job();
  auto targets = targets_of(core, caller, asked.ids(), asked.tasks());
  if (!targets) return core.out.refuse(conn, request.id(), targets.error());
  for (Target& target : *targets)  // what is changed of one component is changed of the others with it
    if (!target.is_of_array && target.jobs.size() > 1) target.jobs.resize(1);
  if (const base::Status fits = check_total(asked, *targets); !fits)
    return core.out.refuse(conn, request.id(), fits.error());
  wire::UpdateJobRequest each = asked;  // which is copied for each
  each.clear_ids();
  each.clear_tasks();
  wire::ApiReply out;
  *out.mutable_jobs() =
      act_on_targets(*targets, [&](const NamedTasks& named) { return update_named(core, caller, named, each); });
  reply_change(core, conn, caller, request, std::move(out));
}

}  // namespace gw::ctld
