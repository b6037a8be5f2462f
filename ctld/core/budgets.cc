// What each user may take of the controller: requests a second, answers that are kept, jobs, and bytes in the store;
// and when what ended jobs leave there goes. Administrators are counted like everybody, and never refused.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "ctld/core/controller.h"
#include "wire/convert.h"

namespace gw::ctld {

/// How long the caller has to wait before this request is taken; zero: it is taken now.
base::Duration Controller::wait_of(Time now, const Caller& caller, const wire::ApiRequest& request, bool is_change) {
  if (is_admin(settings_, caller)) return {};
  const UserLimits& limits = settings_.per_user;
  const base::Duration wait = request_rate_.take(now, caller.uid, {limits.requests_per_second, limits.request_burst});
  if (wait.us > 0 || !is_change) return wait;
  // A retry finds its answer, however many are kept.
  return kept_replies_.find(caller.uid, request.client_id()) != nullptr ? base::Duration{}
                                                                        : kept_replies_.wait_for_room(now, caller.uid);
}

/// The client waits and asks again by itself. Costs little, and shows nothing of the state.
void Controller::refuse_for_now(ConnId conn, uint64_t request_id, base::Duration wait) {
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
  out_.send(std::move(out));
}

base::Status Controller::admit_jobs(const Caller& caller, const wire::SubmitRequest& submit,
                                    const model::JobSpec& spec) const {
  if (is_admin(settings_, caller)) return {};
  const size_t more = 1 + static_cast<size_t>(submit.components_size());
  const JobBooks::Of mine = job_books_.of(caller.uid);
  if (mine.jobs + more > settings_.per_user.max_jobs)
    return base::fail(base::ErrorCode::kUnavailable,
                      fmt::format("you have {} jobs that wait or run; one user may have {} (users.max_jobs)", mine.jobs,
                                  settings_.per_user.max_jobs),
                      "wait until one of your jobs ends");
  size_t bytes = submit.spec().ByteSizeLong();
  for (const wire::JobSpec& component : submit.components()) bytes += component.ByteSizeLong();
  bytes += job_books_.would_add(caller.uid, {spec.launch.script_hash, submit.script().size()});
  bytes += job_books_.would_add(caller.uid, {spec.launch.env_hash, submit.environment().size()});
  return admit_growth(caller, caller.uid, 0, bytes);
}

/// May what this user has in the store grow by so much?
base::Status Controller::admit_growth(const Caller& caller, uint32_t uid, size_t before, size_t after) const {
  if (after <= before || is_admin(settings_, caller)) return {};
  const size_t stored = job_books_.of(uid).bytes;
  if (stored - std::min(stored, before) + after <= settings_.per_user.max_stored_bytes) return {};
  return base::fail(
      base::ErrorCode::kUnavailable,
      fmt::format("scripts, environments and options of your jobs take {} bytes and would take {} more; one user may "
                  "have {} (users.max_stored_bytes)",
                  stored, after - before, settings_.per_user.max_stored_bytes),
      "wait until one of your jobs ends, or give shorter scripts, comments and environments (--export=NONE)");
}

void Controller::book_job(const model::Job& job, size_t row_bytes, const BlobUse& script, const BlobUse& environment) {
  kept_scripts_.remove(script.hash);
  const bool has_blobs = job.spec.kind == model::JobKind::kBatch;
  job_books_.add(job.id, job.spec.uid, row_bytes, has_blobs ? script : BlobUse{}, has_blobs ? environment : BlobUse{});
}

void Controller::environment_due(JobId id) {
  const BlobUse gone = job_books_.release_environment(id);
  if (!gone.hash.empty() && !job_books_.uses(gone.hash)) out_.write(store::DropBlob{gone.hash});
}

/// Its script stays in the store for a while, for whoever asks by the job's number.
void Controller::job_left_memory(Time now, JobId id) {
  environment_due(id);
  const BlobUse script = job_books_.remove(id);
  if (script.hash.empty()) return;
  out_.write(store::ReleaseBlob{script.hash, now});
  if (kept_scripts_.empty()) arm_scripts(now);
  kept_scripts_.add(now, script.hash, script.bytes);
}

KeptScripts::Limits Controller::script_limits() const {
  return {settings_.retention.scripts, settings_.retention.script_bytes};
}

/// Some at a time, so that nobody waits for it.
void Controller::drop_scripts(Time now) {
  constexpr size_t kBite = 100;
  for (std::string& hash : kept_scripts_.take_due(now, script_limits(), kBite))
    if (!job_books_.uses(hash)) out_.write(store::DropBlob{std::move(hash)});  // as an environment
  if (!kept_scripts_.empty()) arm_scripts(now);
}

void Controller::arm_scripts(Time now) {
  const bool is_more_due = kept_scripts_.is_due(now, script_limits());
  timers_.set({now + (is_more_due ? base::seconds(1) : base::minutes(1)), TimerKind::kScripts, 0, 0});
}

/// Blobs that no job in memory uses: environments go, scripts count from when they were last used. Those that a job may
/// need whose row cannot be read stay.
void Controller::restore_books(const store::Snapshot& snapshot, Time now) {
  std::unordered_map<std::string, const store::BlobRow*> blobs;
  for (const store::BlobRow& blob : snapshot.blobs) blobs[blob.hash] = &blob;
  const auto use_of = [&](const std::string& hash) {
    const auto it = blobs.find(hash);
    return it == blobs.end() ? BlobUse{} : BlobUse{hash, it->second->bytes};
  };
  for (const auto* rows : {&snapshot.jobs, &snapshot.recently_ended})
    for (const store::JobRow& row : *rows) {
      const model::Job* job = jobs_.find(row.id);
      const bool is_live = rows == &snapshot.jobs;
      if (job == nullptr || is_live == (job->ended() != nullptr)) continue;
      const model::Launch& launch = job->spec.launch;
      job_books_.add(job->id, job->spec.uid, row.spec.size(), use_of(launch.script_hash), use_of(launch.env_hash));
      if (job->ended() == nullptr) continue;
      job_books_.end(job->id);
      timers_.set({job->ended()->ended + settings_.retention.environments, TimerKind::kEnvironment, job->id.value,
                   job->attempt});
    }
  for (const store::BlobRow& blob : snapshot.blobs) {
    if (job_books_.uses(blob.hash) || (blob.released.us == 0 && held_.has_jobs())) continue;
    if (blob.is_environment) {
      out_.write(store::DropBlob{blob.hash});
      continue;
    }
    if (blob.released.us == 0) out_.write(store::ReleaseBlob{blob.hash, now});
    kept_scripts_.add(blob.released.us == 0 ? now : blob.released, blob.hash, blob.bytes);
  }
  if (!kept_scripts_.empty()) arm_scripts(now);
}

}  // namespace gw::ctld
