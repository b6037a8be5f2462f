// What clients' requests hold in the controller's memory while a commit is under way: the requests, their writes and
// the answers that wait for it. A disk that hangs must not let anybody fill the memory.
// Invariant: `used` is the sum of the charges that live; a charge is given back exactly once, whatever becomes of its
// connection.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>

#include "base/result.h"

namespace gw::ctld {

class HeldMemory {
 public:
  struct Limits {
    size_t per_user = size_t{64} << 20;  ///< Bytes.
    size_t total = size_t{512} << 20;    ///< Bytes, of all users.
  };
  /// One request's part; gives it back when it goes. May outlive the HeldMemory.
  using Charge = std::shared_ptr<void>;

  explicit HeldMemory(Limits limits) : limits_(limits) {}
  /// May a request of this user be taken? Asked before it is, so that one request at most goes over a limit. Error
  /// kUnavailable, after which a client tries again by itself.
  base::Status admit(uint32_t uid) const;
  [[nodiscard]] Charge charge(uint32_t uid, size_t bytes);
  size_t used() const { return sums_->total; }

 private:
  struct Sums {
    size_t total = 0;
    std::unordered_map<uint32_t, size_t> by_uid;  // of users who hold something
  };
  Limits limits_;
  std::shared_ptr<Sums> sums_ = std::make_shared<Sums>();
};

}  // namespace gw::ctld
