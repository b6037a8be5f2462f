// Threads for the blocking calls to the authenticator, since a munged that hangs must not stop a daemon, and for the
// keys that are agreed on with each who comes, since ten thousand may come at once. Invariant: callbacks run on the
// loop, never after their owner has gone; work whose owner has gone is not begun.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "auth/authenticator.h"
#include "auth/handshake.h"
#include "io/loop.h"

namespace gw::link {

class AuthPool {
 public:
  using Owner = std::weak_ptr<void>;
  /// `authenticator` outlives the pool; results are posted to `loop`.
  AuthPool(auth::Authenticator& authenticator, io::Loop& loop, unsigned threads = 2);
  /// Waits for calls in progress, which may take seconds if munged hangs; drops the others.
  ~AuthPool();
  AuthPool(const AuthPool&) = delete;
  AuthPool& operator=(const AuthPool&) = delete;

  /// Encodes on a thread and then calls `fn` on the loop, unless `owner` has gone by then.
  void encode(std::string payload, uint32_t restrict_uid, Owner owner,
              std::function<void(base::Result<std::string>)> fn);
  /// Decodes the credential of the hello and answers it, both on a thread; `fn` as above.
  void answer(auth::PendingHello hello, Owner owner, std::function<void(base::Result<auth::Acceptance>)> fn);

 private:
  struct Work {
    Owner owner;
    std::function<void()> run;
  };
  auth::Authenticator& authenticator_;
  io::Poster poster_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Work> queue_;
  bool is_stopping_ = false;
  std::vector<std::thread> threads_;

  void submit(Work work);
  void work();
};

}  // namespace gw::link
