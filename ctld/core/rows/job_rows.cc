// See job_rows.h.
#include "ctld/core/rows/job_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "ctld/core/rows/contract.h"
#include "ctld/core/rows/spec_rules.h"
#include "model/suspension.h"
#include "sched/queue/queue.h"
#include "wire/convert.h"

namespace gw::ctld {

using base::JobId;
using base::NodeId;
using base::Status;
using model::Job;

namespace {

constexpr uint32_t kMostComponents = 1'000;

Status fail(std::string why) { return base::fail(base::ErrorCode::kInternal, std::move(why)); }

/// A row has some of its job twice: in columns and in messages.
Status check_columns(const store::JobRow& row, const Job& job) {
  if (!job.id || job.id.value >= sched::kFirstHoldingId) return fail("no job has such a number");
  if (row.uid != job.spec.uid) return fail("its options are those of another user");
  if (row.state != static_cast<uint32_t>(job.state)) return fail("its state and its status do not agree");
  if (job.spec.partitions.empty()) return fail("its options name no partition");
  if (job.spec.array && job.id < job.spec.array->job) return fail("it is older than its array");
  if (!job.spec.is_het()) return {};
  const bool is_in_place = job.spec.het_size <= kMostComponents && job.spec.het_offset < job.spec.het_size &&
                           job.id.value == job.spec.het_job.value + job.spec.het_offset;
  return is_in_place ? Status() : fail("it is not the component that its number says");
}

base::Result<Job> read_row(const store::JobRow& row, const RunRows* runs, const wire::NodeLookup& lookup,
                           const Settings& settings) {
  wire::JobStatus status;
  if (!status.ParseFromString(row.status)) return tl::unexpected(fail("its status cannot be read").error());
  if (runs != nullptr) GW_TRY_STATUS(runs->complete(row, status));
  Job job;
  job.id = row.id;
  GW_TRY(spec, read_spec(row.spec));
  job.spec = std::move(spec);
  GW_TRY_STATUS(wire::status_from_wire(status, job, lookup));
  GW_TRY_STATUS(check_columns(row, job));
  if (job.placed() == nullptr) return job;
  if (!status.placed().has_contract())
    job.placed()->contract = contract_of_earlier_version(settings, base::Duration{status.placed().lease_over_us()});
  return job;
}

/// What jobs hold, as the rows say, and under which ids.
class Holdings {
 public:
  /// Error: something of it is held already; then nothing was taken.
  Status take(const Job& job) {
    if (job.placed() == nullptr) return {};
    const model::Placed& placed = *job.placed();
    GW_TRY_STATUS(check_ids(job));
    const bool is_less = placed.suspension && placed.suspension->kept_id;
    model::Allocation held;
    for (const model::NodeShare& share : placed.allocation.shares)
      if (job.state != model::JobState::kCompleting || placed.waiting_for.contains(share.node))
        held.shares.push_back(share);
    if (is_less) held = model::kept_in_suspension(held, placed.suspension->shares_gpus);
    for (const model::NodeShare& share : held.shares) GW_TRY_STATUS(check(share));
    for (const model::NodeShare& share : held.shares) enter(share);
    for (const auto& [node, extension] : placed.extensions) ids_.insert(extension.id.value);
    if (is_less) ids_.insert(placed.suspension->kept_id.value);
    return {};
  }

 private:
  struct OnNode {
    base::IndexSet cores, whole_gpus;
    std::map<uint32_t, uint32_t> parts;  // of a GPU: thousandths
  };
  std::map<NodeId, OnNode> nodes_;
  std::set<uint32_t> ids_;

  Status check_ids(const Job& job) const {
    const model::Placed& placed = *job.placed();
    if (placed.allocation.shares.empty()) return fail("it runs, but on no node");
    if (job.state == model::JobState::kCompleting && placed.waiting_for.empty() &&
        placed.program == model::JobProgram::kNone)
      return fail("it is ending, but on no node");
    std::set<NodeId> nodes;
    for (const model::NodeShare& share : placed.allocation.shares)
      if (!nodes.insert(share.node).second) return fail("node " + share.name + " is there twice");
    for (const NodeId node : placed.waiting_for)
      if (!nodes.contains(node)) return fail("it waits for a node that it does not have");
    std::set<uint32_t> own;
    for (const auto& [node, extension] : placed.extensions)
      if (!own.insert(extension.id.value).second || extension.id.value < sched::kFirstHoldingId ||
          ids_.contains(extension.id.value))
        return fail(fmt::format("what it holds has the number {} of something else", extension.id.value));
    if (!placed.suspension || !placed.suspension->kept_id) return {};
    const uint32_t holder = placed.suspension->kept_id.value;
    if (holder < sched::kFirstHoldingId || ids_.contains(holder) || !own.insert(holder).second)
      return fail(fmt::format("what it holds has the number {} of something else", holder));
    return {};
  }

  Status check(const model::NodeShare& share) const {
    const auto it = nodes_.find(share.node);
    if (it == nodes_.end()) return {};
    const OnNode& on = it->second;
    const auto twice = [&](std::string_view what) {
      return fail(fmt::format("another job holds the same {} of node {}", what, share.name));
    };
    if (on.cores.intersects(share.cores)) return twice("cores");
    if (on.whole_gpus.intersects(share.gpus)) return twice("GPUs");
    for (const auto& [gpu, held] : on.parts)
      if (share.gpus.contains(gpu) && held + share.gpu_milli > model::kWholeGpu) return twice("GPUs");
    return {};
  }

  void enter(const model::NodeShare& share) {
    OnNode& on = nodes_[share.node];
    on.cores |= share.cores;
    if (share.gpu_milli == model::kWholeGpu) on.whole_gpus |= share.gpus;
    if (share.gpu_milli == model::kWholeGpu) return;
    for (uint32_t g = share.gpus.next(0); g != UINT32_MAX; g = share.gpus.next(g + 1)) on.parts[g] += share.gpu_milli;
  }
};

/// Of an array that waits, whether the store has what is left of it.
Status check_tasks(const store::Snapshot& snapshot, const Job& job) {
  if (!job.spec.is_array()) return {};
  const bool has_row = std::ranges::binary_search(snapshot.arrays, job.id, {}, &store::PutArray::job);
  return has_row ? Status() : fail("nothing is stored of its tasks");
}

/// What one component comes to all come to.
void take_components_of_faults(JobRows& rows) {
  std::map<JobId, std::string> more;
  for (const auto& [id, job] : rows.sound) {
    if (!job.spec.is_het()) continue;
    const auto at = rows.faults.lower_bound(job.spec.het_job);
    if (at == rows.faults.end() || at->first.value >= job.spec.het_job.value + job.spec.het_size) continue;
    more[id] = fmt::format("it goes with component {}, which cannot be read", at->first.value);
  }
  for (auto& [id, why] : more) {
    rows.sound.erase(id);
    rows.faults[id] = std::move(why);
  }
}

}  // namespace

JobRows read_jobs(const store::Snapshot& snapshot, const RunRows& runs, const wire::NodeLookup& lookup,
                  const Settings& settings, std::map<JobId, std::string> faults) {
  JobRows rows{{}, std::move(faults)};
  Holdings holdings;
  for (const store::JobRow& row : snapshot.jobs) {
    if (rows.faults.contains(row.id)) continue;
    auto job = read_row(row, &runs, lookup, settings);
    Status taken;
    if (!job)
      taken = tl::unexpected(job.error());
    else if (job->ended() != nullptr)
      taken = fail("it has ended");
    else
      taken = check_tasks(snapshot, *job).and_then([&] { return holdings.take(*job); }).and_then([&] {
        return runs.check_complete(*job);
      });
    if (taken)
      rows.sound.emplace(row.id, std::move(*job));
    else
      rows.faults[row.id] = taken.error().what;
  }
  take_components_of_faults(rows);
  return rows;
}

base::Result<Job> read_ended_job(const store::JobRow& row, const wire::NodeLookup& lookup, const Settings& settings) {
  GW_TRY(job, read_row(row, nullptr, lookup, settings));
  if (job.ended() == nullptr) return tl::unexpected(fail("it has not ended").error());
  return job;
}

}  // namespace gw::ctld
