// Who a uid is on this node: passwd entry and supplementary groups, from the name service, which may be slow or down.
// Invariant: answers come from the loop, never from inside look_up(); failures are not remembered.
#pragma once

#include <functional>
#include <map>

#include "base/result.h"
#include "base/time.h"
#include "io/loop.h"
#include "noded/core/facts.h"
#include "noded/shell/worker.h"

namespace gw::noded {

/// Asks the name service; blocks. Errors: kNotFound (no such user), kUnavailable (the name service failed).
base::Result<UserInfo> read_user(uint32_t uid);

class Users {
 public:
  using Answer = std::function<void(const base::Result<UserInfo>&)>;
  explicit Users(io::Loop& loop) : loop_(loop) {}

  /// Answers of the last 60 s are used again. `this` must outlive the loop's run.
  void look_up(uint32_t uid, Answer answer);

 private:
  struct Known {
    UserInfo user;
    base::Duration read_at;
  };
  io::Loop& loop_;
  std::map<uint32_t, Known> known_;
  Worker worker_;
};

}  // namespace gw::noded
