// How many requests of each user are taken: a bucket of tokens for each, which fills with time. Pure.
// Invariant: a user who sends no more than the rate is never refused; a refusal changes nothing but the bucket's time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>

#include "base/time.h"

namespace gw::ctld {

class RequestRate {
 public:
  struct Limits {
    uint32_t per_period = 0;  ///< Tokens that come back; 0: no bound.
    uint32_t burst = 1;       ///< Most tokens: what may come at once after a pause.
    base::Duration period = base::seconds(1);
  };

  /// Takes a token of this user. Zero: taken; else how long it takes until there is one.
  base::Duration take(base::Time now, uint32_t uid, const Limits& limits) {
    if (limits.per_period == 0) return {};
    const double most = std::max(limits.burst, 1U);
    forget_full(now, limits);
    const auto [it, is_new] = buckets_.try_emplace(uid, Bucket{most, now});
    Bucket& bucket = it->second;
    bucket.tokens = std::min(most, bucket.tokens + came_back(bucket, now, limits));
    bucket.at = std::max(bucket.at, now);
    if (bucket.tokens >= 1) {
      bucket.tokens -= 1;
      return {};
    }
    return base::microseconds(
        static_cast<int64_t>((1 - bucket.tokens) * static_cast<double>(limits.period.us) / limits.per_period) + 1);
  }
  size_t size() const { return buckets_.size(); }

 private:
  struct Bucket {
    double tokens = 0;
    base::Time at;
  };
  std::unordered_map<uint32_t, Bucket> buckets_;

  static double came_back(const Bucket& bucket, base::Time now, const Limits& limits) {
    const base::Duration passed = std::max(now - bucket.at, base::Duration{0});  // the clock may be set back
    return static_cast<double>(passed.us) / static_cast<double>(limits.period.us) * limits.per_period;
  }
  /// A full bucket says nothing: users who were here once take no memory for ever.
  void forget_full(base::Time now, const Limits& limits) {
    constexpr size_t kMany = 10'000;
    if (buckets_.size() < kMany) return;
    std::erase_if(buckets_, [&](const auto& entry) {
      return entry.second.tokens + came_back(entry.second, now, limits) >= limits.burst;
    });
  }
};

}  // namespace gw::ctld
