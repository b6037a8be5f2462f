// Values of a step as they are shown.
#include "client/show/step_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/bitset.h"
#include "base/hostlist.h"
#include "base/text.h"
#include "model/job.h"

namespace gw::client {
namespace {

bool is_allocation(const wire::Job& job) {
  return job.spec().kind() == static_cast<uint32_t>(model::JobKind::kAllocation);
}

}  // namespace

bool has_own_row(const wire::Job& job) {
  const model::JobState state = state_of(job);
  const bool has_script = job.spec().kind() == static_cast<uint32_t>(model::JobKind::kBatch);
  return (has_script ? job.spec().het_offset() == 0 : is_allocation(job)) &&
         (state == model::JobState::kRunning || state == model::JobState::kSuspended);
}

bool is_extern(const StepRow& row) { return row.step == nullptr && is_allocation(*row.job); }

uint32_t job_id(const StepRow& row) { return row.step == nullptr ? row.job->id() : row.step->job(); }

std::optional<uint32_t> step_number(const StepRow& row) {
  return row.step == nullptr ? std::nullopt : std::optional(row.step->step());
}

std::string step_id(const StepRow& row) {
  return row.step == nullptr ? fmt::format("{}.{}", row.job->id(), name_of(row))
                             : fmt::format("{}.{}", row.step->job(), row.step->step());
}

bool is_listed_before(const StepRow& a, const StepRow& b) {
  return std::pair(job_id(a), step_number(a)) < std::pair(job_id(b), step_number(b));
}

std::string name_of(const StepRow& row) {
  if (row.step != nullptr) return row.step->request().name();
  return is_extern(row) ? "extern" : "batch";
}

uint32_t uid_of(const StepRow& row) { return row.step == nullptr ? row.job->spec().uid() : row.step->uid(); }

model::JobState state_of(const StepRow& row) {
  if (row.step == nullptr) return state_of(*row.job);
  if (row.step->is_ending()) return model::JobState::kCompleting;
  if (row.step->started_us() == 0) return model::JobState::kPending;
  const bool is_suspended = row.job != nullptr && state_of(*row.job) == model::JobState::kSuspended;
  return is_suspended ? model::JobState::kSuspended : model::JobState::kRunning;
}

base::Time start_of(const StepRow& row) {
  return row.step == nullptr ? start_of(*row.job) : base::Time{row.step->started_us()};
}

base::Duration run_time(const StepRow& row) {
  if (row.step == nullptr) return run_time(JobRow{row.job, row.now});
  const base::Time start = start_of(row);
  if (!start) return {};
  const base::Time suspended = row.job == nullptr ? base::Time{} : suspended_at(*row.job);
  const base::Time until = suspended ? std::min(suspended, row.now) : row.now;
  const base::Duration age = std::max(until - start, base::Duration{});
  // Nobody notes during which steps a job was suspended; none of them ran longer than the job.
  return row.job == nullptr ? age : std::min(age, run_time(JobRow{row.job, row.now}));
}

std::vector<const wire::NodeShare*> shares_of(const StepRow& row) {
  std::vector<const wire::NodeShare*> shares;
  if (row.step != nullptr)
    for (const wire::StepNode& node : row.step->nodes()) shares.push_back(&node.share());
  else
    for (const wire::NodeShare& share : shares_of(*row.job)) {
      shares.push_back(&share);
      if (!is_extern(row)) break;
    }
  return shares;
}

std::string node_list(const StepRow& row) {
  std::vector<std::string> names;
  for (const wire::NodeShare* share : shares_of(row)) names.push_back(share->node());
  return base::compress_hostlist(names);
}

uint32_t cpu_count(const StepRow& row) {
  uint32_t sum = 0;
  for (const wire::NodeShare* share : shares_of(row)) sum += share->cpus();
  return sum;
}

uint32_t task_count(const StepRow& row) {
  if (row.step == nullptr && !is_extern(row)) return 1;
  uint32_t sum = 0;
  for (const wire::NodeShare* share : shares_of(row)) sum += share->tasks();
  return sum;
}

uint32_t gpu_count(const wire::NodeShare& share) {
  const auto set = base::IndexSet::parse(share.gpus());
  return set ? set->size() : 0;
}

std::string gpus_per_node(const StepRow& row) {
  const auto shares = shares_of(row);
  if (shares.empty() || gpu_count(*shares[0]) == 0) return {};
  return shares[0]->has_gpu_milli() ? fmt::format("gres/shard:{}", shares[0]->gpu_milli())
                                    : fmt::format("gres/gpu:{}", gpu_count(*shares[0]));
}

std::string tres_of(const StepRow& row) {
  uint64_t mem_mb = 0, gpus = 0, milli = 0;
  const auto shares = shares_of(row);
  for (const wire::NodeShare* share : shares) {
    mem_mb += share->mem_mb();
    if (share->has_gpu_milli())
      milli += share->gpu_milli();
    else
      gpus += gpu_count(*share);
  }
  std::string out = fmt::format("cpu={}", cpu_count(row));
  if (mem_mb != 0) out += ",mem=" + tres_memory(mem_mb);
  out += fmt::format(",node={}", shares.size());
  if (gpus != 0) out += fmt::format(",gres/gpu={}", gpus);
  return milli == 0 ? out : out + fmt::format(",gres/shard={}", milli);
}

}  // namespace gw::client
