// Charges for what waits to become durable.
#include "ctld/shell/held_memory.h"

#include <fmt/format.h>

namespace gw::ctld {

base::Status HeldMemory::admit(uint32_t uid) const {
  constexpr const char* kHint = "the controller's disk is slow or hangs; try again later";
  if (sums_->total >= limits_.total)
    return base::fail(base::ErrorCode::kUnavailable,
                      fmt::format("requests of {} bytes wait to be written, the controller's bound", sums_->total),
                      kHint);
  const auto mine = sums_->by_uid.find(uid);
  if (mine != sums_->by_uid.end() && mine->second >= limits_.per_user)
    return base::fail(base::ErrorCode::kUnavailable,
                      fmt::format("your requests of {} bytes wait to be written, the bound for one user", mine->second),
                      kHint);
  return {};
}

HeldMemory::Charge HeldMemory::charge(uint32_t uid, size_t bytes) {
  sums_->total += bytes;
  sums_->by_uid[uid] += bytes;
  return {sums_.get(), [sums = sums_, uid, bytes](void*) {
            sums->total -= bytes;
            const auto mine = sums->by_uid.find(uid);
            if ((mine->second -= bytes) == 0) sums->by_uid.erase(mine);
          }};
}

}  // namespace gw::ctld
