// Charges for what waits to become durable.
#include "ctld/shell/held_memory.h"

#include <fmt/format.h>

namespace gw::ctld {

base::Status HeldMemory::admit(uint32_t uid) const {
  constexpr const char* kHint = "the controller's disk is slow or hangs; try again later";
  if (books_->total >= limits_.total)
    return base::fail(base::ErrorCode::kUnavailable,
                      fmt::format("requests of {} bytes wait to be written, the controller's bound", books_->total),
                      kHint);
  const auto mine = books_->by_uid.find(uid);
  if (mine != books_->by_uid.end() && mine->second >= limits_.per_user)
    return base::fail(base::ErrorCode::kUnavailable,
                      fmt::format("your requests of {} bytes wait to be written, the bound for one user", mine->second),
                      kHint);
  return {};
}

HeldMemory::Charge HeldMemory::charge(uint32_t uid, size_t bytes) {
  books_->total += bytes;
  books_->by_uid[uid] += bytes;
  return {books_.get(), [books = books_, uid, bytes](void*) {
            books->total -= bytes;
            const auto mine = books->by_uid.find(uid);
            if ((mine->second -= bytes) == 0) books->by_uid.erase(mine);
          }};
}

}  // namespace gw::ctld
