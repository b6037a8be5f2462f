// See gpu_watch.h.
#include "noded/core/gpu_watch.h"

#include <algorithm>

#include "base/bitset.h"
#include "wire/convert.h"

namespace gw::noded {
namespace {

constexpr base::Duration kMostForALook = kGpuLookEvery * 3;

bool is_watched(const Run& run) {
  return run.stage == Stage::kStarted && !run.suspension.order && !run.record.gpus().empty();
}

/// For how long a look stands that is taken now.
base::Duration length_of_look(const Core& core, const Run& run) {
  const base::Time before = run.gpus_seen ? run.gpus_seen : base::Time{run.started_at_us};
  return before ? std::clamp(core.now - before, base::Duration{}, kMostForALook) : base::Duration{};
}

void add(SeenGpu& gpu, const GpuLook& look, base::Duration length) {
  const uint32_t percent = std::min(look.busy_percent, 100U);
  gpu.seen = gpu.seen + length;
  gpu.busy = gpu.busy + base::Duration{length.us * percent / 100};
  if (percent == 0) gpu.idle = gpu.idle + length;
  gpu.most_busy = std::max(gpu.most_busy, percent);
  gpu.most_mem = std::max(gpu.most_mem, look.mem);
}

}  // namespace

bool wants_gpu_looks(const Core& core) {
  const auto& all = core.runs.all();
  return std::any_of(all.begin(), all.end(), [](const auto& one) { return is_watched(one.second); });
}

void on_gpu_looks(Core& core, const GpuLooks& looks) {
  for (const RunKey& key : core.runs.keys()) {
    Run* run = core.runs.find(key);
    if (run == nullptr || !is_watched(*run)) continue;
    const auto gpus = base::IndexSet::parse(run->record.gpus());
    if (!gpus) continue;
    const base::Duration length = length_of_look(core, *run);
    for (const auto& [index, look] : looks)
      if (gpus->contains(index)) add(run->gpus[index], look, length);
    run->gpus_seen = core.now;
  }
}

void tell_gpu_use(Run& run) {
  model::GpuUse use;
  for (const auto& [index, gpu] : run.gpus) {
    model::GpuUse one{1, static_cast<uint64_t>(gpu.seen.us), static_cast<uint64_t>(gpu.busy.us),
                      static_cast<uint64_t>(gpu.idle.us)};
    one.most_busy = gpu.most_busy;
    one.most_mem = one.sum_mem = gpu.most_mem;
    use.merge(one);
  }
  if (use.gpus != 0) *run.done.mutable_use()->mutable_gpu() = wire::to_wire(use);
}

}  // namespace gw::noded
