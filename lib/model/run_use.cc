// See run_use.h.
#include "model/run_use.h"

#include <algorithm>

namespace gw::model {
namespace {

/// Two numbers of a node may each be close to the largest that there is.
uint64_t sum_of(uint64_t a, uint64_t b) { return a > UINT64_MAX - b ? UINT64_MAX : a + b; }

}  // namespace

void GpuUse::merge(const GpuUse& other) {
  gpus = static_cast<uint32_t>(std::min(sum_of(gpus, other.gpus), uint64_t{UINT32_MAX}));
  seen_us = sum_of(seen_us, other.seen_us);
  busy_us = sum_of(busy_us, other.busy_us);
  idle_us = sum_of(idle_us, other.idle_us);
  most_busy = std::max(most_busy, other.most_busy);
  most_mem = std::max(most_mem, other.most_mem);
  sum_mem = sum_of(sum_mem, other.sum_mem);
}

void RunUse::add_task(uint32_t rank, const Amounts& amounts) {
  for (size_t k = 0; k < kUseKinds; ++k) {
    UseSpread& spread = spreads[k];
    spread.sum = sum_of(spread.sum, amounts[k]);
    if (tasks == 0 || amounts[k] > spread.most) spread.most = amounts[k], spread.most_task = rank;
    if (tasks == 0 || amounts[k] < spread.least) spread.least = amounts[k], spread.least_task = rank;
  }
  ++tasks;
}

void RunUse::merge(const RunUse& other, std::string_view node) {
  user_us = sum_of(user_us, other.user_us);
  system_us = sum_of(system_us, other.system_us);
  gpu.merge(other.gpu);
  if (other.tasks == 0) return;
  for (size_t k = 0; k < kUseKinds; ++k) {
    UseSpread& to = spreads[k];
    const UseSpread& from = other.spreads[k];
    to.sum = sum_of(to.sum, from.sum);
    if (tasks == 0 || from.most > to.most)
      to.most = from.most, to.most_task = from.most_task, to.most_node = std::string(node);
    if (tasks == 0 || from.least < to.least)
      to.least = from.least, to.least_task = from.least_task, to.least_node = std::string(node);
  }
  tasks = static_cast<uint32_t>(sum_of(tasks, other.tasks) > UINT32_MAX ? UINT32_MAX : sum_of(tasks, other.tasks));
}

}  // namespace gw::model
