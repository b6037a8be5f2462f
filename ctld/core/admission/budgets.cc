// See budgets.h.
#include "ctld/core/admission/budgets.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "wire/convert.h"

namespace gw::ctld {

namespace {

KeptScripts::Limits script_limits(const Core& core) {
  return {core.settings.retention.scripts, core.settings.retention.script_bytes};
}

void arm_scripts(Core& core) {
  const bool is_more_due = core.stored.scripts.is_due(core.now, script_limits(core));
  core.timers.set({core.now + (is_more_due ? base::seconds(1) : base::minutes(1)), TimerKind::kScripts, 0, 0});
}

/// What the index of those takes that a job depends on. A separator stands before each but the first, and kinds take
/// some of them: a little more than there are.
constexpr size_t kRange = 12;  // bytes of a range of tasks

size_t bytes_of_others(std::string_view dependency) {
  constexpr size_t kEach = 128;
  const auto others =
      std::count_if(dependency.begin(), dependency.end(), [](char c) { return c == ':' || c == ',' || c == '?'; });
  return static_cast<size_t>(others) * kEach;
}

}  // namespace

size_t bytes_of_ranges(const Core& core, const model::Job& job) {
  const model::TaskSet* left = core.jobs.arrays().tasks_of(job);
  return left == nullptr ? 0 : kRange * left->ranges().size();
}

size_t bytes_of(const model::JobSpec& spec) {
  return wire::to_wire(spec).ByteSizeLong() + bytes_of_others(spec.dependency);
}

base::Duration wait_of(Core& core, const Caller& caller, const wire::ApiRequest& request, bool is_change) {
  if (is_admin(core.settings, caller)) return {};
  const UserLimits& limits = core.settings.per_user;
  const base::Duration wait =
      core.clients.request_rate.take(core.now, caller.uid, {limits.requests_per_second, limits.request_burst});
  if (wait.us > 0 || !is_change) return wait;
  // A retry finds its answer, however many are kept.
  return core.clients.kept_replies.find(caller.uid, request.client_id()) != nullptr
             ? base::Duration{}
             : core.clients.kept_replies.wait_for_room(core.now, caller.uid);
}

void refuse_for_now(Core& core, ConnId conn, uint64_t request_id, base::Duration wait) {
  Reply out{conn, {}, /*at_once=*/true};
  const int64_t seconds = (wait.us + 999'999) / 1'000'000;
  out.reply.set_id(request_id);
  *out.reply.mutable_error() = wire::to_wire(base::Error{
      base::ErrorCode::kUnavailable, "you send more requests than the controller takes from one user at a time",
      fmt::format("retry after {} s; users.requests_per_second and users.request_burst say how many it takes, "
                  "users.kept_replies and users.kept_reply_bytes how many changes",
                  seconds)});
  out.reply.mutable_error()->set_retry_after_ms(
      static_cast<uint32_t>(std::min<int64_t>(wait.us / 1000 + 1, UINT32_MAX)));
  core.out.send(std::move(out));
}

bool refuse_hurry(Core& core, ConnId conn, const Caller& caller, uint64_t request_id) {
  constexpr RequestRate::Limits kQuestions{.per_period = 10, .burst = 30};
  const base::Duration wait = core.clients.question_rate.take(core.now, caller.uid, kQuestions);
  if (wait.us > 0) refuse_for_now(core, conn, request_id, wait);
  return wait.us > 0;
}

base::Status admit_jobs(const Core& core, const Caller& caller, const wire::SubmitRequest& submit,
                        const model::JobSpec& spec) {
  if (is_admin(core.settings, caller)) return {};
  const size_t more = 1 + static_cast<size_t>(submit.components_size());
  const JobCharges::Of mine = core.clients.charges.of(caller.uid);
  if (mine.jobs + more > core.settings.per_user.max_jobs)
    return base::fail(base::ErrorCode::kUnavailable,
                      fmt::format("you have {} jobs that wait or run; one user may have {} (users.max_jobs)", mine.jobs,
                                  core.settings.per_user.max_jobs),
                      "wait until one of your jobs ends");
  size_t bytes = submit.spec().ByteSizeLong() + bytes_of_others(submit.spec().dependency());
  bytes += kRange * static_cast<size_t>(submit.array().left_size());
  for (const wire::JobSpec& component : submit.components()) bytes += component.ByteSizeLong();
  bytes += core.clients.charges.would_add(caller.uid, {spec.launch.script_hash, submit.script().size()});
  bytes += core.clients.charges.would_add(caller.uid, {spec.launch.env_hash, submit.environment().size()});
  return admit_growth(core, caller, caller.uid, 0, bytes);
}

base::Status admit_growth(const Core& core, const Caller& caller, uint32_t uid, size_t before, size_t after) {
  if (after <= before || is_admin(core.settings, caller)) return {};
  const size_t stored = core.clients.charges.of(uid).bytes;
  if (stored - std::min(stored, before) + after <= core.settings.per_user.max_stored_bytes) return {};
  return base::fail(
      base::ErrorCode::kUnavailable,
      fmt::format("scripts, environments and options of your jobs take {} bytes and would take {} more; one user may "
                  "have {} (users.max_stored_bytes)",
                  stored, after - before, core.settings.per_user.max_stored_bytes),
      "wait until one of your jobs ends, or give shorter scripts, comments and environments (--export=NONE)");
}

void charge_job(Core& core, const model::Job& job, size_t row_bytes, const BlobUse& script,
                const BlobUse& environment) {
  core.stored.scripts.remove(script.hash);
  const bool has_blobs = job.spec.kind == model::JobKind::kBatch;
  core.clients.charges.add(job.id, job.spec.uid, row_bytes, has_blobs ? script : BlobUse{},
                           has_blobs ? environment : BlobUse{});
}

void environment_due(Core& core, JobId id) {
  const BlobUse gone = core.clients.charges.release_environment(id);
  if (!gone.hash.empty() && !core.clients.charges.uses(gone.hash)) core.out.write(store::DropBlob{gone.hash});
}

void job_left_memory(Core& core, JobId id) {
  environment_due(core, id);
  const BlobUse script = core.clients.charges.remove(id);
  if (script.hash.empty()) return;
  core.out.write(store::ReleaseBlob{script.hash, core.now});
  if (core.stored.scripts.empty()) arm_scripts(core);
  core.stored.scripts.add(core.now, script.hash, script.bytes);
}

void drop_scripts(Core& core) {
  constexpr size_t kBite = 100;
  for (std::string& hash : core.stored.scripts.take_due(core.now, script_limits(core), kBite))
    if (!core.clients.charges.uses(hash)) core.out.write(store::DropBlob{std::move(hash)});  // as an environment
  if (!core.stored.scripts.empty()) arm_scripts(core);
}

void restore_charges(Core& core, const store::Snapshot& snapshot) {
  std::unordered_map<std::string, const store::BlobRow*> blobs;
  for (const store::BlobRow& blob : snapshot.blobs) blobs[blob.hash] = &blob;
  const auto use_of = [&](const std::string& hash) {
    const auto it = blobs.find(hash);
    return it == blobs.end() ? BlobUse{} : BlobUse{hash, it->second->bytes};
  };
  for (const auto* rows : {&snapshot.jobs, &snapshot.recently_ended})
    for (const store::JobRow& row : *rows) {
      const model::Job* job = core.jobs.find(row.id);
      const bool is_live = rows == &snapshot.jobs;
      if (job == nullptr || is_live == (job->ended() != nullptr)) continue;
      const model::Launch& launch = job->spec.launch;
      core.clients.charges.add(job->id, job->spec.uid,
                               row.spec.size() + bytes_of_ranges(core, *job) + bytes_of_others(job->spec.dependency),
                               use_of(launch.script_hash), use_of(launch.env_hash));
      if (job->ended() == nullptr) continue;
      core.clients.charges.end(job->id);
      core.timers.set({job->ended()->ended + core.settings.retention.environments, TimerKind::kEnvironment,
                       job->id.value, job->attempt});
    }
  for (const store::BlobRow& blob : snapshot.blobs) {
    if (core.clients.charges.uses(blob.hash) || (blob.released.us == 0 && core.stored.held.has_jobs())) continue;
    if (blob.is_environment) {
      core.out.write(store::DropBlob{blob.hash});
      continue;
    }
    if (blob.released.us == 0) core.out.write(store::ReleaseBlob{blob.hash, core.now});
    core.stored.scripts.add(blob.released.us == 0 ? core.now : blob.released, blob.hash, blob.bytes);
  }
  if (!core.stored.scripts.empty()) arm_scripts(core);
}

}  // namespace gw::ctld
