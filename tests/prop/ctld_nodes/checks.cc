// What holds of a whole cluster at any moment. See cluster.h.
#include <rapidcheck.h>

#include "base/bitset.h"
#include "ctld/core/jobs/facts.h"
#include "tests/prop/ctld_nodes/cluster.h"

namespace gw::ctld::testing {

namespace {

base::IndexSet set_of(const std::string& text) {
  const auto set = base::IndexSet::parse(text);
  RC_ASSERT(set.has_value());
  return *set;
}

}  // namespace

void SimCluster::check() const {
  check_nodes();
  if (!shell_.is_up()) return;
  check_core();
  check_cancelled();
}

void SimCluster::check_core() const {
  const Controller& core = shell_.core();
  const base::Status audit = core.audit();
  if (!audit) RC_FAIL(audit.error().text());
  RC_ASSERT(shell_.view().capacity().audit().has_value());
  RC_ASSERT(shell_.view().capacity().holdings().size() == core.ledger().holdings().size());
  for (const auto& [id, owner] : owners_.owners())
    RC_ASSERT(disk_.rows.jobs.contains(id) || disk_.rows.ended.contains(id));
  for (const auto& [id, job] : core.jobs()) {
    RC_ASSERT(job.is_consistent());
    if (job.state == model::JobState::kCompleting) RC_ASSERT(!job.placed()->waiting_for.empty());
  }
}

/// Whoever was told that a job is cancelled can rely on it: it ends, and never begins again unless somebody
/// requeues it.
void SimCluster::check_cancelled() const {
  for (const auto& [id, attempt] : owners_.cancelled()) {
    const auto it = shell_.core().jobs().find(id);
    if (it == shell_.core().jobs().end()) continue;
    const model::Job& job = it->second;
    if (owners_.may_come_back(job)) continue;
    const bool is_ending = job.state == model::JobState::kCompleting && !job.placed()->outcome->requeue;
    if (!model::is_end(job.state) && !is_ending) RC_FAIL("job " + id.text() + " was cancelled, and is not ending");
    RC_ASSERT(job.attempt == attempt);
  }
}

/// What time should have brought has come, whatever was restarted meanwhile.
void SimCluster::check_time() const {
  constexpr base::Duration kSlack = base::seconds(2);
  for (const auto& [id, job] : shell_.core().jobs()) {
    const model::Placed* placed = job.placed();
    if (placed == nullptr) continue;
    if (job.state == model::JobState::kRunning && job.spec.time_limit != base::kUnlimited &&
        placed->running_since() + job.spec.time_limit + kSlack < now_)
      RC_FAIL("job " + id.text() + " runs beyond its time limit");
    Time asked = std::max(placed->placed, shell_.started());
    // One that goes alone may well have run on a node out of reach: its time counts anew when the node is back.
    if (goes_alone(job))
      asked = std::max(asked, shell_.core().nodes().at(placed->allocation.shares.front().node).since);
    const Time due = asked + shell_.settings().start_timeout + kSlack;
    if (job.state == model::JobState::kConfiguring && placed->unreachable.empty() && due < now_)
      RC_FAIL("job " + id.text() + " is being prepared for too long");
  }
}

bool SimCluster::holds(const model::Job& job, const std::string& node) const {
  if (job.placed() == nullptr) return false;
  std::set<JobId> holders = {job.id};
  for (const auto& [at, extension] : job.placed()->extensions) holders.insert(extension.id);
  if (job.placed()->suspension) holders.insert(job.placed()->suspension->kept_id);
  for (const JobId holder : holders)
    if (shell_.core().ledger().share_of(holder, shell_.core().ledger().id_of(node))) return true;
  return false;
}

/// On every node: nothing is used twice, and what lives there is held for it. Of a job one attempt has begun.
void SimCluster::check_nodes() const {
  std::map<uint32_t, std::set<uint32_t>> begun;
  for (const auto& machine : machines_) {
    check_use(*machine);
    for (const auto& [key, use] : machine->in_use()) {
      if (use.has_begun) begun[key.job].insert(key.attempt);
      if (!use.has_processes || !shell_.is_up()) continue;
      const auto job = shell_.core().jobs().find(JobId(key.job));
      if (job == shell_.core().jobs().end() || job->second.attempt != key.attempt ||
          !holds(job->second, machine->name()))
        RC_FAIL("run " + key.text() + " lives on " + machine->text() + ", and nothing is held for it");
    }
  }
  for (const auto& [job, attempts] : begun)
    if (attempts.size() > 1) RC_FAIL("job " + std::to_string(job) + " runs twice");
}

/// Beside what runs: a share that is prepared, or one of a gang whose script runs elsewhere, and not one that the job
/// gave away since it is suspended.
bool SimCluster::holds_all(RunKey key, const Machine::Use& use) const {
  if (!shell_.is_up()) return false;
  const auto job = shell_.core().jobs().find(JobId(key.job));
  if (job == shell_.core().jobs().end() || job->second.placed() == nullptr) return false;
  const model::Placed& placed = *job->second.placed();
  const bool may_be_over = !use.has_processes && placed.contract.has_lease();
  return job->second.attempt == key.attempt && !placed.suspension && !may_be_over;
}

/// What is suspended gives its cores and GPUs to others; what has no process here may be over, with its lease.
void SimCluster::check_use(const Machine& machine) const {
  base::IndexSet cores, gpus;
  for (const auto& [key, use] : machine.in_use()) {
    if (!use.runs && !holds_all(key, use)) continue;
    const base::IndexSet own_cores = set_of(use.share.cores()), own_gpus = set_of(use.share.gpus());
    if (cores.intersects(own_cores) || gpus.intersects(own_gpus))
      RC_FAIL("run " + key.text() + " has what another one has: " + machine.text());
    cores |= own_cores;
    gpus |= own_gpus;
  }
}

/// A node is told of a run only once that is on disk.
void SimCluster::check_prepare(const wire::Prepare& prepare) const {
  const auto row = disk_.rows.jobs.find(JobId(prepare.job()));
  RC_ASSERT(row != disk_.rows.jobs.end());
  wire::JobStatus status;
  RC_ASSERT(status.ParseFromString(row->second.status));
  RC_ASSERT(status.attempt() == prepare.attempt());
}

/// A controller that started on this disk now would know what the present one knows.
void SimCluster::check_restored(const MemoryStore& disk) const {
  Settings settings = shell_.settings();
  settings.incarnation = "twin";
  const Time oldest_end = now_ - settings.min_job_age;
  Controller twin(settings, now_);
  twin.set_lease_clock(boot_time());
  const base::Status restored = twin.restore(disk.snapshot(oldest_end), now_);
  if (!restored) RC_FAIL(restored.error().text());
  sched::ClusterView view;
  for (const sched::Delta& delta : twin.take_effects().deltas) view.apply(delta);
  const std::string found =
      difference(promises_of(shell_.core(), shell_.view(), oldest_end), promises_of(twin, view, oldest_end));
  if (!found.empty()) RC_FAIL("after a restart " + found);
}

std::map<JobId, std::string> SimCluster::jobs_now() const {
  std::map<JobId, std::string> out;
  for (const auto& [id, job] : shell_.core().jobs())
    if (job.ended() == nullptr)
      out[id] = std::string(model::long_name(job.state)) + " in attempt " + std::to_string(job.attempt);
  return out;
}

/// The restarted controller has the jobs that it had when the last group of writes that is durable was closed.
void SimCluster::check_kept() const {
  const auto now = jobs_now();
  for (const auto& [id, text] : kept_[0]) {
    const auto it = now.find(id);
    if (it == now.end()) RC_FAIL("job " + id.text() + " is lost, which was " + text);
    if (it->second != text) RC_FAIL("job " + id.text() + " was " + text + " and is " + it->second);
  }
}

}  // namespace gw::ctld::testing
