// See submit.h.
#include "ctld/core/admission/submit.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/faults.h"
#include "base/text.h"
#include "ctld/core/admission/array.h"
#include "ctld/core/admission/budgets.h"
#include "ctld/core/admission/dependency.h"
#include "ctld/core/admission/hetjob.h"
#include "ctld/core/admission/kinds.h"
#include "ctld/core/admission/routing.h"
#include "ctld/core/cluster/gpu_budgets.h"
#include "ctld/core/cluster/quota_rules.h"
#include "ctld/core/cluster/reservation_rules.h"
#include "ctld/core/jobs/allocation_end.h"
#include "ctld/core/jobs/corresponding.h"
#include "ctld/core/jobs/dependencies.h"
#include "ctld/core/jobs/eligibility.h"
#include "ctld/core/jobs/facts.h"
#include "ctld/core/rows/spec_rules.h"
#include "ctld/core/shared/replies.h"
#include "ctld/core/steps/requests.h"
#include "sched/quota/quota_tree.h"
#include "wire/bounds.h"
#include "wire/convert.h"
#include "wire/job_attributes.h"

namespace gw::ctld {

namespace {

base::Status check_identity(const Core& core, const Caller& caller, const wire::SubmitRequest& request) {
  if (caller.uid == 0 && !core.settings.allow_root_jobs)
    return base::fail(base::ErrorCode::kDenied, "root may not submit jobs",
                      "submit as an ordinary user, or set jobs.allow_root_jobs: true");
  if (request.script().empty() && request.spec().kind() == 0) return base::invalid("the batch script is empty");
  if (request.spec().request().cpus_per_task() == 0) return base::invalid("-c/--cpus-per-task: a task needs a CPU");
  if (request.script().size() > core.settings.max_script_bytes)
    return base::invalid(fmt::format("the batch script has {} bytes; at most {} are taken", request.script().size(),
                                     core.settings.max_script_bytes),
                         "keep data out of the script, or raise jobs.max_script_bytes");
  size_t options = request.spec().ByteSizeLong();
  for (const wire::JobSpec& component : request.components()) options += component.ByteSizeLong();
  if (options > wire::kMostSpecBytes)
    return base::invalid(
        fmt::format("the options of the job take {} bytes; at most {} are taken", options, wire::kMostSpecBytes),
        "shorten the arguments, the comment or the node lists");
  if (core.jobs.live() + static_cast<size_t>(request.components_size()) >= core.settings.max_jobs)
    return base::fail(base::ErrorCode::kUnavailable,
                      fmt::format("the queue is full: {} jobs (jobs.max_jobs)", core.settings.max_jobs),
                      "try again later");
  return {};
}

constexpr const char* kPolicy = "Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)";

base::Status check_times_of(const Core& core, const Caller& caller, model::JobSpec& spec, size_t components) {
  using base::with_sentence;
  const bool is_timed = spec.time_limit != base::Duration{};
  GW_TRY_STATUS(with_sentence(check_time(core, spec, is_admin(core.settings, caller)), model::kTimesSentence));
  if (!is_timed) spec.time_limit = std::min(spec.time_limit, max_wall_of(core, spec.qos));
  GW_TRY_STATUS(with_sentence(check_caps(core, spec, components), kPolicy));
  return model::check_times(spec, core.now);
}

base::Status check_named_reservation(const Core& core, const model::JobSpec& spec) {
  const base::Status reservation = check_reservation(core, spec);
  const bool is_denied = !reservation && reservation.error().code == base::ErrorCode::kDenied;
  return base::with_sentence(reservation,
                             is_denied ? "Access denied to requested reservation" : "Requested reservation is invalid");
}

/// Does any node say how large its disk for temporary files is?
bool knows_disks(const Core& core) {
  const auto& nodes = core.settings.nodes;
  return std::any_of(nodes.begin(), nodes.end(), [](const model::NodeConfig& node) { return node.tmp_mb > 0; });
}

/// What only administrators may say of a job, others have not said.
void clear_own_of_admins(model::JobSpec& spec) {
  const model::JobSpec unsaid;
  for (const wire::JobAttribute& a : wire::kJobAttributes)
    if (a.update.who == wire::Updater::kAdmin && a.kept.copy != nullptr) a.kept.copy(unsaid, spec);
}

/// What the cluster does not have, or does not let the user have: all of it at once.
base::Status check_with_cluster(const Core& core, const Caller& caller, const wire::SubmitRequest& request,
                                model::JobSpec& spec, std::vector<std::string>& warnings) {
  base::Faults faults;
  const base::Status account = check_account(core, caller, spec.account);
  faults.add(account);
  const bool is_qos_of_account = !account && spec.qos.empty();
  const base::Status qos = is_qos_of_account ? account : check_qos(core, caller, spec);
  const base::Status place = route(core, caller, spec, qos.has_value());
  if (!is_qos_of_account) faults.add(qos);
  faults.add(place);
  const size_t jobs = spec.array ? spec.array->count : 1 + static_cast<size_t>(request.components_size());
  const bool has_place = qos && place;
  if (has_place) faults.add(check_times_of(core, caller, spec, jobs));  // the reservation must be as long
  faults.add(check_named_reservation(core, spec));
  if (leave_out_licenses(core, spec))
    warnings.push_back("left out: --licenses (licences are not counted: `licenses` of the configuration names none)");
  faults.add(check_licenses(core, spec));
  faults.add(check_dependency(core, caller, spec.dependency, {}));
  if (!has_place) return faults.status();
  faults.add(base::with_sentence(check_budgets(core, spec, warnings), kPolicy));
  faults.add(base::with_sentence(check_runnable(core, spec), "Requested node configuration is not available"));
  return faults.status();
}

base::Result<model::JobSpec> accept_spec(const Core& core, const Caller& caller, const wire::SubmitRequest& request,
                                         std::vector<std::string>& warnings) {
  GW_TRY_STATUS(check_identity(core, caller, request));
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
  GW_TRY_STATUS(accept_array(request, spec));
  route_by_reservation(core, spec);
  choose_partitions(core, spec);
  GW_TRY_STATUS(check_with_cluster(core, caller, request, spec, warnings));
  const bool admin = is_admin(core.settings, caller);
  if (!admin) clear_own_of_admins(spec);
  if (!admin && spec.priority > 0) {
    warnings.push_back("only administrators may set a priority: ignored");
    spec.priority = 0;
  }
  if (!admin && spec.nice < 0) {
    warnings.push_back("only administrators may set a negative nice: 0 is used");
    spec.nice = 0;
  }
  spec.hold_admin = spec.hold_admin && admin;
  if (!spec.mail_type.empty() && !core.settings.sends_mail)
    warnings.push_back("left out: --mail-type (no mail is sent: mail.program of the configuration names no program)");
  if (spec.request.tmp_mb > 0 && !knows_disks(core))
    warnings.push_back("left out: --tmp (no node says how large its disk for temporary files is: nodes[].tmp_disk)");
  GW_TRY_STATUS(check_preemption(spec, warnings));
  return spec;
}

/// The scheduler is asked about it as if it had been submitted.
void test_only(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request,
               const std::vector<model::JobSpec>& components, const std::vector<std::string>& warnings) {
  AskOutlooks ask;
  ask.conn = conn;
  ask.uid = caller.uid;
  ask.wants_range = !components.front().launch.slurm_names;  // Slurm's commands have no words for it
  ask.reply.set_id(request.id());
  wire::SubmitReply& verdict = *ask.reply.mutable_submit();
  verdict.set_cluster(core.settings.cluster);
  verdict.set_job_id(core.jobs.next().value);
  for (const std::string& w : warnings) verdict.add_warnings(w);
  for (const model::JobSpec& spec : components) {
    model::Job job;
    job.id = JobId(UINT32_MAX - static_cast<uint32_t>(ask.asked.size()));  // which no job has
    job.spec = spec;
    job.submitted = job.eligible = core.now;
    ask.asked.push_back(pending_of(core, job));
    if (!spec.reservation.empty()) admit_to_reservation(core, spec);
  }
  const model::JobSpec& first = components.front();
  if (first.begin > core.now || first.hold_user || first.hold_admin || !first.dependency.empty())
    verdict.add_warnings("what is foreseen is of the job without its --hold, --begin and --dependency");
  sched::PendingJob& whole = ask.asked.front();
  for (size_t k = 1; k < ask.asked.size(); ++k)
    whole.components.push_back({ask.asked[k].id, ask.asked[k].request, ask.asked[k].partitions, ask.asked[k].licenses});
  ask.asked.resize(1);
  core.out.send(std::move(ask));
}

JobId enter(Core& core, const wire::SubmitRequest& request, model::JobSpec first,
            std::vector<model::JobSpec> components) {
  const JobId id = core.jobs.next();
  std::vector<model::JobSpec> all;
  all.push_back(std::move(first));
  std::move(components.begin(), components.end(), std::back_inserter(all));
  if (all.front().kind == model::JobKind::kBatch) {
    core.out.write(store::PutBlob{all.front().launch.script_hash, request.script()});
    core.out.write(store::PutBlob{all.front().launch.env_hash, request.environment(), true});
  }
  std::vector<model::Job*> entered;
  for (model::JobSpec& spec : all) {
    core.counts.submitted += spec.array ? spec.array->count : 1;
    core.totals.submitted += spec.array ? spec.array->count : 1;
    spec.het_job = all.size() > 1 ? id : JobId();
    spec.het_offset = static_cast<uint32_t>(entered.size());
    spec.het_size = all.size() > 1 ? static_cast<uint32_t>(all.size()) : 0;
    entered.push_back(spec.array ? &core.jobs.enter_array(core.now, std::move(spec), tasks_of(request))
                                 : &core.jobs.enter(core.now, std::move(spec)));
    begin_to_depend(core, *entered.back());
    update_eligibility(core, *entered.back());
  }
  for (const model::Job* job : entered) {
    charge_job(core, *job, bytes_of(job->spec) + bytes_of_ranges(core, *job),
               {job->spec.launch.script_hash, request.script().size()},
               {job->spec.launch.env_hash, request.environment().size()});
    core.rows.job_and_spec(*job);
    core.out.job_event(*job, "submitted", fmt::format("by {} from {}", job->spec.user, job->spec.submit_host),
                       job->spec.uid);
  }
  if (entered.front()->spec.is_array()) give_up_corresponding(core, *entered.front());
  return id;
}

}  // namespace

void submit(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request) {
  const wire::SubmitRequest& submit = request.submit();
  std::vector<std::string> warnings;
  if (!submit.site_note().empty()) warnings.push_back(base::printable(submit.site_note(), 1000));
  auto spec = accept_spec(core, caller, submit, warnings);
  if (!spec) return core.out.refuse(conn, request.id(), spec.error());
  auto components = accept_components(core, caller, submit, *spec);
  if (!components) return core.out.refuse(conn, request.id(), components.error());
  auto first_step = accept_first_step(conn, *spec, submit);
  if (!first_step) return core.out.refuse(conn, request.id(), first_step.error());
  if (submit.test_only()) {
    if (refuse_hurry(core, conn, caller, request.id())) return;
    components->insert(components->begin(), std::move(*spec));
    return test_only(core, conn, caller, request, *components, warnings);
  }
  if (const base::Status room = base::with_sentence(admit_jobs(core, caller, submit, *spec), kPolicy); !room)
    return core.out.refuse(conn, request.id(), room.error());
  if (!core.jobs.has_numbers_for(components->size() + 1))
    return core.out.refuse(
        conn, request.id(),
        {base::ErrorCode::kConflict, "all job numbers are used up", "begin with a new state folder"});
  const JobId id = enter(core, submit, std::move(*spec), std::move(*components));
  tie_to_client(core, conn, core.jobs.at(id));
  if (*first_step) core.clients.waiting_steps[id].push_back(std::move(**first_step));
  wire::ApiReply out;
  out.mutable_submit()->set_job_id(id.value);
  out.mutable_submit()->set_cluster(core.settings.cluster);
  for (const std::string& w : warnings) out.mutable_submit()->add_warnings(w);
  reply_change(core, conn, caller, request, std::move(out));
}

}  // namespace gw::ctld
