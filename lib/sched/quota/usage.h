// Use of the cluster that fades: what each holder (a user, a QOS) has had, counted half after every half-life. The
// controller and the simulator account by this code, and tell the scheduler in fixed periods (UsageSet).
// Amounts are whole millionths of a GPU-second; each change of a rate rounds once, by at most half of that or, above
// 10^9 GPU-seconds, by one part in 10^15.
// Invariants: what is kept of a holder changes only when its rate or the half-life does, so that asking changes
// nothing, and a meter restored from what was stored continues to the last digit.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "base/time.h"
#include "model/job.h"

namespace gw::sched {

/// How often the scheduler is told of use, at multiples of it since the epoch.
constexpr base::Duration kUsagePeriod = base::minutes(5);
/// The last such moment up to `now`.
base::Time usage_period_start(base::Time now);

/// What a job's share of a node costs, in millionths of a GPU: its GPUs, or parts of one; without GPUs a 32nd of a GPU
/// for each hardware thread.
int64_t usage_rate(const model::NodeShare& share);
int64_t usage_rate(const model::Allocation& allocation);
/// Its GPUs alone, in millionths.
int64_t gpu_rate(const model::Allocation& allocation);

/// Use up to a moment, and what goes on since.
struct Used {
  int64_t amount = 0;  ///< Millionths of a GPU-second, as they count at `at`.
  int64_t rate = 0;    ///< Millionths of a GPU, held since `at`.
  base::Time at;
};
/// The amount as it counts at `when`: amount * 2^(-d/h) + rate * h/ln 2 * (1 - 2^(-d/h)), d being the time since `at`
/// and h the half-life. Before `at`: the amount.
int64_t used_by(const Used& used, base::Time when, base::Duration half_life);
constexpr double gpu_seconds(int64_t amount) { return static_cast<double>(amount) / 1e6; }

template <typename Key>
class UsageMeter {
 public:
  /// Holders without a rate that have used less than this are forgotten: a GPU-second.
  static constexpr int64_t kForgotten = 1'000'000;

  explicit UsageMeter(base::Duration half_life) : half_life_(half_life) {}

  /// From now on another half-life counts.
  void set_half_life(base::Duration half_life, base::Time now) {
    if (half_life == half_life_) return;
    for (auto& [key, used] : holders_) settle(key, used, now);
    half_life_ = half_life;
  }
  /// A holder holds so much more, or less.
  void change_rate(const Key& key, int64_t by, base::Time now) {
    Used& used = holders_.try_emplace(key, Used{0, 0, now}).first->second;
    settle(key, used, now);
    used.rate += by;
  }
  /// What was stored of a holder, without its rate.
  void restore(const Key& key, int64_t amount, base::Time at) { holders_[key] = Used{amount, 0, at}; }
  /// A rate that was in force when the holder was stored. Without anything stored it counts from `now`.
  void resume_rate(const Key& key, int64_t rate, base::Time now) {
    const auto [it, is_new] = holders_.try_emplace(key, Used{0, 0, now});
    if (is_new) changed_.insert(key);
    it->second.rate += rate;
  }
  void forget_small(base::Time now) {
    for (auto it = holders_.begin(); it != holders_.end();) {
      const bool is_small = it->second.rate == 0 && used_by(it->second, now, half_life_) < kForgotten;
      if (is_small) changed_.insert(it->first);
      it = is_small ? holders_.erase(it) : std::next(it);
    }
  }

  const std::map<Key, Used>& holders() const { return holders_; }
  bool empty() const { return holders_.empty(); }
  /// GPU-seconds of each holder as they count at `when`.
  std::map<Key, double> at(base::Time when) const {
    std::map<Key, double> out;
    for (const auto& [key, used] : holders_) out.emplace(key, gpu_seconds(used_by(used, when, half_life_)));
    return out;
  }
  /// Holders to be stored anew, or dropped if they are not among holders(); each is told once.
  std::set<Key> take_changed() { return std::exchange(changed_, {}); }

 private:
  base::Duration half_life_;
  std::map<Key, Used> holders_;
  std::set<Key> changed_;

  void settle(const Key& key, Used& used, base::Time now) {
    used.amount = used_by(used, now, half_life_);
    used.at = std::max(used.at, now);
    changed_.insert(key);
  }
};

}  // namespace gw::sched
