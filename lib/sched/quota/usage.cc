// The decay of use. See usage.h.
#include "sched/quota/usage.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace gw::sched {

base::Time usage_period_start(base::Time now) { return {now.us - now.us % kUsagePeriod.us}; }

int64_t usage_rate(const model::NodeShare& share) {
  constexpr int64_t kGpu = 1'000'000, kThread = kGpu / 32;
  if (share.gpus.empty()) return kThread * share.cpus;
  return kGpu / model::kWholeGpu * share.gpus.size() * share.gpu_milli;
}

int64_t usage_rate(const model::Allocation& allocation) {
  int64_t sum = 0;
  for (const model::NodeShare& share : allocation.shares) sum += usage_rate(share);
  return sum;
}

int64_t gpu_rate(const model::Allocation& allocation) {
  int64_t sum = 0;
  for (const model::NodeShare& share : allocation.shares) sum += share.gpus.empty() ? 0 : usage_rate(share);
  return sum;
}

int64_t used_by(const Used& used, base::Time when, base::Duration half_life) {
  if (when <= used.at) return used.amount;
  const double seconds = static_cast<double>((when - used.at).us) / 1e6;
  const auto rate = static_cast<double>(used.rate);
  constexpr double kMost = 9e18;  // no sum wraps
  if (half_life == base::kUnlimited && static_cast<double>(used.amount) + rate * seconds > kMost)
    return static_cast<int64_t>(kMost);
  if (half_life == base::kUnlimited) return used.amount + std::llround(rate * seconds);
  // In units of the mean life, h / ln 2. expm1 keeps what a short time adds exact.
  const double mean_life = static_cast<double>(half_life.us) / 1e6 / std::numbers::ln2;
  const double gone = -std::expm1(-seconds / mean_life);
  return std::llround(static_cast<double>(used.amount) * (1 - gone) + rate * mean_life * gone);
}

}  // namespace gw::sched
