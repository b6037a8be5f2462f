// See restore.h.
#include "ctld/core/restore.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

#include "base/hostlist.h"
#include "base/text.h"
#include "ctld/core/admission/budgets.h"
#include "ctld/core/api/tokens.h"
#include "ctld/core/cluster/gpu_budgets.h"
#include "ctld/core/cluster/partitions.h"
#include "ctld/core/cluster/pools.h"
#include "ctld/core/cluster/quotas.h"
#include "ctld/core/cluster/reservations.h"
#include "ctld/core/jobs/allocation_end.h"
#include "ctld/core/jobs/elastic.h"
#include "ctld/core/jobs/eligibility.h"
#include "ctld/core/jobs/facts.h"
#include "ctld/core/jobs/limits.h"
#include "ctld/core/jobs/preemption_counts.h"
#include "ctld/core/jobs/run.h"
#include "ctld/core/jobs/suspend.h"
#include "ctld/core/jobs/usage.h"
#include "ctld/core/jobs/wait_clock.h"
#include "ctld/core/rows/job_rows.h"
#include "ctld/core/rows/run_rows.h"
#include "ctld/core/shared/held.h"
#include "ctld/core/shared/publish.h"
#include "ctld/core/steps/restore.h"
#include "model/suspension.h"
#include "sched/quota/quota_tree.h"
#include "wire/convert.h"

namespace gw::ctld {

using model::Node;
using store::RowKind;

namespace {

/// From which numbers jobs and extensions continue: above all that any row names, if the count itself is lost.
void restore_counts(Core& core, const store::Snapshot& snapshot) {
  bool is_lost = core.stored.held.find(store::word_of(RowKind::kSetting), "next_job") != nullptr;
  for (const store::NamedBytes& meta : snapshot.meta) {
    if (meta.name != "next_job" && meta.name != "next_piece") continue;
    const bool is_holding = meta.name == "next_piece";
    const auto next = base::parse_int(meta.bytes, is_holding ? sched::kFirstHoldingId : 1,
                                      is_holding ? UINT32_MAX : int64_t{sched::kFirstHoldingId}, meta.name);
    if (next) {
      const JobId id(static_cast<uint32_t>(*next));
      is_holding ? core.jobs.restore_next_holding_id(id) : core.jobs.restore_next(id);
      continue;
    }
    hold_named(core, RowKind::kSetting, meta.name, "it is no number of a job");
    is_lost |= !is_holding;
    // Nodes remember extensions of before: a number is left out for each that there can have been.
    constexpr uint32_t kLeap = uint32_t{1} << 24;
    if (is_holding) core.jobs.skip_holding_ids_to(JobId(sched::kFirstHoldingId + kLeap));
  }
  uint32_t last = is_lost ? snapshot.last_job.value : 0;
  for (const store::JobRow& row : snapshot.jobs) last = std::max(last, row.id.value);
  for (const store::JobRow& row : snapshot.recently_ended) last = std::max(last, row.id.value);
  for (const auto& [key, row] : core.stored.held.rows()) last = std::max(last, job_of_held(row));
  if (last >= sched::kFirstHoldingId - 1 || last < core.jobs.next().value) return;
  core.jobs.skip_to(JobId(last + 1));
}

void restore_replies(Core& core, const store::Snapshot& snapshot) {
  for (const store::PutReply& r : snapshot.replies) {
    if (r.at + kReplyMemory <= core.now) continue;
    if (wire::ApiReply reply; !reply.ParseFromString(r.reply)) {
      hold_aside(core, RowKind::kReply, {int64_t{r.uid}, r.client_id}, held_reply_name(r.uid, r.client_id),
                 "it cannot be read");
      continue;
    }
    for (std::string& gone : core.clients.kept_replies.keep(r.at, r.uid, r.client_id, r.reply))
      core.out.write(store::DropReply{r.uid, std::move(gone)});
  }
  if (core.clients.kept_replies.oldest() != Time::never())
    core.timers.set({core.clients.kept_replies.oldest() + kReplyMemory, TimerKind::kReplies, 0, 0});
}

void restore_ended(Core& core, const store::Snapshot& snapshot, const JobRows& live,
                   const std::function<NodeId(std::string_view)>& lookup) {
  for (const store::JobRow& row : snapshot.recently_ended) {
    auto job = read_ended_job(row, lookup, core.settings);
    const bool is_live = live.sound.contains(row.id) || live.faults.contains(row.id);
    if (!job || is_live) {
      hold_aside(core, RowKind::kEndedJob, {int64_t{row.id.value}}, row.id.text(),
                 job ? "a job of this number has not ended" : job.error().what);
      continue;
    }
    core.timers.set(
        {job->ended()->ended + core.settings.min_job_age, TimerKind::kJobPurge, job->id.value, job->attempt});
    core.jobs.restore(std::move(*job));
  }
}

/// Those that cannot be read are held aside, and so are their jobs: `faults`.
void restore_arrays(Core& core, const store::Snapshot& snapshot, std::map<JobId, std::string>& faults) {
  for (const store::PutArray& row : snapshot.arrays) {
    auto tasks = wire::array_row(row.bytes, row.ranges.value_or("")).and_then([](const wire::ArrayTasks& stored) {
      return wire::from_wire(stored);
    });
    if (tasks && core.jobs.arrays().restore(row.job, std::move(*tasks))) continue;
    faults[row.job] = "what is stored of its tasks cannot be read";
    hold_aside(core, RowKind::kArray, {int64_t{row.job.value}}, row.job.text(),
               tasks ? "of the array of this part nothing is stored" : tasks.error().what);
  }
}

void restore_jobs(Core& core, const store::Snapshot& snapshot, const RunRows& runs, const RunRows::Unread& unread,
                  const std::function<NodeId(std::string_view)>& lookup) {
  std::map<JobId, std::string> faults;
  for (const store::HeldRow& row : snapshot.held)  // those that the store has just found
    if (const uint32_t id = job_of_held(row); id != 0 && row.since.us == 0) faults[JobId(id)] = row.reason;
  for (const auto& [run, row] : unread)
    if (run.second == 0)
      faults.try_emplace(run.first, fmt::format("the row of its run on {} cannot be read", row->node));
  restore_arrays(core, snapshot, faults);
  JobRows rows = read_jobs(snapshot, runs, lookup, core.settings, std::move(faults));
  std::erase_if(rows.sound, [&](const auto& entry) {
    if (!entry.second.spec.is_array() || core.jobs.arrays().tasks_of(entry.second) != nullptr) return false;
    rows.faults[entry.first] = "nothing is stored of the tasks that it stands for";
    return true;
  });
  hold_jobs(core, snapshot, rows.faults);
  restore_ended(core, snapshot, rows, lookup);
  for (auto& [id, job] : rows.sound) {
    const model::Job& kept = core.jobs.restore(std::move(job));
    // Stored before runs had rows of their own.
    if (kept.placed() != nullptr && !runs.has(kept.id, 0)) core.rows.run(kept);
  }
  for (const auto& [id, reason] : rows.faults)
    if (std::ranges::binary_search(snapshot.arrays, id, {}, &store::PutArray::job) &&
        core.stored.held.find(store::word_of(RowKind::kArray), id.text()) == nullptr)
      hold_aside(core, RowKind::kArray, {int64_t{id.value}}, id.text(), reason);
  core.jobs.arrays().forget_lost(core.jobs.all(), rows.faults);
}

/// Whether a node may take jobs is in its row: without that an administrator has to say so.
void restore_node(Core& core, const store::NamedBytes& row, bool is_held_by_jobs) {
  Node* node = core.nodes.find(row.name);
  if (node == nullptr && !is_held_by_jobs) return;
  Node read = node == nullptr ? Node() : *node;
  const base::Status taken = wire::stored_from_row(row.name, row.bytes, core.nodes.topologies(), read);
  if (!taken) hold_named(core, RowKind::kNode, row.name, taken.error().what);
  if (node == nullptr) {
    if (!taken) return;
    node = &core.nodes.add(row.name);
    read.id = node->id;
    read.config.name = row.name;
  }
  if (taken) {
    *node = std::move(read);
    core.nodes.is_stored(*node);
  } else {
    node->admin = model::NodeAdmin::kDrain;
    node->reason = "its stored row cannot be read and is held aside";
    node->reason_user = "gctld";
    node->reason_time = core.now;
    core.nodes.changed(*node);
  }
  node->connected = false;
  node->since = core.now;
  publish_node(core, *node);
  core.timers.set({core.now + core.settings.node_timeout, TimerKind::kNodeDown, node->id.value, 0});
}

void restore_cluster(Core& core, const store::Snapshot& snapshot) {
  // A node that left the configuration while jobs held it is known from its own record.
  std::set<std::string> held;
  for (const store::JobRow& row : snapshot.jobs) {
    wire::JobStatus status;
    if (!status.ParseFromString(row.status)) continue;
    if (!status.has_placed()) continue;
    for (const wire::NodeShare& share : status.placed().shares()) held.insert(share.node());
    if (auto names = base::expand_hostlist(row.nodes)) held.insert(names->begin(), names->end());
  }
  for (const store::NamedBytes& row : snapshot.nodes) restore_node(core, row, held.contains(row.name));
  restore_partitions(core, snapshot);
}

/// Of a run that was told to end: by when it should have.
Time reported_end(const model::Placed& placed) {
  return placed.kill_sent + placed.outcome->grace.value_or(placed.contract.kill_wait);
}

void restore_job(Core& core, model::Job& job) {
  await_client(core, job);
  if (job.waiting() != nullptr) {
    const auto before = std::pair(job.eligible, job.waiting()->reason);
    update_eligibility(core, job);
    // Its time to begin has come while nobody was there: since when it could have run is kept from now on.
    if (before != std::pair(job.eligible, job.waiting()->reason)) core.rows.job(job);
    return;
  }
  model::Placed& placed = *job.placed();
  // Completing: only the nodes still waited for hold something. Before that all do.
  model::Allocation held, own;
  for (const model::NodeShare& share : placed.allocation.shares) {
    if (job.state == model::JobState::kCompleting && !placed.waiting_for.contains(share.node)) continue;
    held.shares.push_back(share);
    if (holder_on(job, share.node) == job.id) own.shares.push_back(share);
    core.placements.put(share.node, job.id);
    placed.unreachable.insert(share.node);
  }
  const Time begun = placed.started ? placed.running_since() : placed.placed;
  const Time expected_end = begun + job.spec.time_limit;
  const bool has_own = !own.shares.empty();
  base::Status taken;
  if (has_own)
    taken = core.ledger.hold({job.id, placed.partition, own, begun, expected_end,
                              std::make_shared<const sched::PendingJob>(pending_of(core, job))});
  if (taken) {
    for (const auto& [node, extension] : placed.extensions) {
      const model::NodeShare* share = share_on(job, node);
      if (share == nullptr || !core.placements.is_on(node, job.id)) continue;
      emit_extension(core, job, extension, *share, begun);
      core.timers.set({extension.until ? extension.until : core.now + core.settings.prepare_timeout(),
                       TimerKind::kExtension, job.id.value, job.attempt});
    }
    if (placed.suspension && !held.shares.empty()) restore_suspension(core, job, held);
    if (job.state == model::JobState::kCompleting) expect_end(core, job, reported_end(placed), true);
    if (const auto& n = placed.moves_to)
      core.feed.tell(sched::NominationSet{{job.id, n->partition, n->allocation, n->when}});
    const bool is_less = placed.suspension && placed.suspension->kept_id;
    // A row of before services were counted.
    const bool runs = job.state == model::JobState::kRunning || job.state == model::JobState::kConfiguring;
    if (runs && !job.service.since) job.service = {job.service.done, sched::usage_rate(held), placed.placed};
    charge_again(core, job, is_less ? model::kept_in_suspension(held, placed.suspension->shares_gpus) : held);
  }
  repeat_program(core, job);
  if (job.state == model::JobState::kConfiguring && placed.program == model::JobProgram::kNone)
    core.timers.set({core.now + core.settings.prepare_timeout(), TimerKind::kStartTimeout, job.id.value, job.attempt});
  if (placed.contract.has_lease())
    core.timers.set({core.now + placed.contract.over_after(), TimerKind::kLeaseOver, job.id.value, job.attempt});
  if (job.state == model::JobState::kRunning) arm_limits(core, job);
  // The step that a job is made for was asked for again, or nobody is there any more.
  const bool stands = job.state == model::JobState::kSuspended && !job.spec.attended;
  if ((job.state == model::JobState::kRunning || stands) && job.spec.kind == model::JobKind::kStep)
    await_step(core, job);
}

/// How long runs take is learned again from the jobs whose end is not long ago.
void restore_run_times(Core& core) {
  std::vector<const model::Job*> ended;
  for (const auto& [id, job] : core.jobs.all())
    if (job.ended() != nullptr) ended.push_back(&job);
  std::sort(ended.begin(), ended.end(), [](const model::Job* a, const model::Job* b) {
    return std::pair(a->ended()->ended, a->id) < std::pair(b->ended()->ended, b->id);
  });
  for (const model::Job* job : ended) core.planning.forecasts.ended(*job);
}

}  // namespace

namespace {

/// With what somebody who wants to hide something would change in the configuration meanwhile.
void audit_start(Core& core) {
  constexpr std::string_view kKeys[] = {"admins", "private", "retention.audit"};
  if (core.settings.incarnation.empty()) return;
  std::string text = "version " + core.settings.version;
  for (const auto& [key, value] : core.settings.entries)
    if (std::find(std::begin(kKeys), std::end(kKeys), key) != std::end(kKeys))
      text += fmt::format(", {}: {}", key, value.empty() ? "none" : value);
  core.out.audit("controller started", "", text, {});
}

}  // namespace

base::Status restore(Core& core, const store::Snapshot& snapshot) {
  restore_held(core, snapshot);
  core.watch.leases.begin();
  for (const std::string& name : core.stored.lineage.restore(snapshot.meta))
    hold_named(core, RowKind::kSetting, name, "it does not say what it should");
  core.stored.lineage.begin(core.settings.incarnation);
  core.stored.commit_saved = core.stored.lineage.commit();
  restore_counts(core, snapshot);
  restore_quotas(core, snapshot);
  restore_cluster(core, snapshot);
  const wire::NodeLookup lookup = [&core](std::string_view name) { return core.nodes.id_of(name); };
  restore_reservations(core, snapshot);
  restore_tokens(core, snapshot);
  restore_usage(core, snapshot);
  restore_preemptions(core, snapshot);
  if (restore_services(core, snapshot)) tell_policy(core);
  RunRows::Unread unread;
  const RunRows runs = RunRows::read(snapshot.run_nodes, unread);
  restore_jobs(core, snapshot, runs, unread, lookup);
  restore_waits(core, snapshot);
  restore_run_times(core);
  restore_steps(core, snapshot, runs, unread, lookup);
  // Components of one job look at each other, and those that wait at what budgets those that run have used up.
  std::vector<model::Job*> waiting;
  for (const store::JobRow& row : snapshot.jobs) {
    model::Job* job = core.jobs.find(row.id);
    if (job == nullptr || job->ended() != nullptr) continue;
    job->waiting() != nullptr ? waiting.push_back(job) : restore_job(core, *job);
  }
  restore_budgets(core);
  for (model::Job* job : waiting) restore_job(core, *job);
  restore_replies(core, snapshot);
  restore_charges(core, snapshot);
  publish_usage(core);
  arm_usage(core);
  audit_start(core);
  return core.ledger.capacity().audit();
}

}  // namespace gw::ctld
