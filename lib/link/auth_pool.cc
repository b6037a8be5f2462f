// Worker threads around the authenticator.
#include "link/auth_pool.h"

#include <csignal>

namespace gw::link {
namespace {

// Signals belong to the thread of the loop; new threads inherit the mask.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

}  // namespace

AuthPool::AuthPool(auth::Authenticator& authenticator, io::Loop& loop, unsigned threads)
    : authenticator_(authenticator), poster_(loop.poster()) {
  const SignalsBlocked blocked;
  for (unsigned i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
}

AuthPool::~AuthPool() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  wake_.notify_all();
  for (auto& thread : threads_) thread.join();
}

void AuthPool::encode(std::string payload, uint32_t restrict_uid, Owner owner,
                      std::function<void(base::Result<std::string>)> fn) {
  submit({owner, [this, payload = std::move(payload), restrict_uid, owner, fn = std::move(fn)] {
            poster_.post([owner, fn, result = authenticator_.encode(payload, restrict_uid)] {
              if (const auto alive = owner.lock()) fn(result);
            });
          }});
}

void AuthPool::answer(auth::PendingHello hello, Owner owner, std::function<void(base::Result<auth::Acceptance>)> fn) {
  submit({owner, [this, hello = std::move(hello), owner, fn = std::move(fn)] {
            // Shared, since a callback can be copied and keys are not.
            auto answer = std::make_shared<base::Result<auth::Acceptance>>(
                hello.answer(authenticator_.decode(hello.credential())));
            poster_.post([owner, fn, answer = std::move(answer)] {
              if (const auto alive = owner.lock()) fn(std::move(*answer));
            });
          }});
}

void AuthPool::submit(Work work) {
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(work));
  }
  wake_.notify_one();
}

void AuthPool::work() {
  for (;;) {
    Work next;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [this] { return is_stopping_ || !queue_.empty(); });
      if (is_stopping_) return;
      next = std::move(queue_.front());
      queue_.pop_front();
    }
    if (!next.owner.expired()) next.run();
  }
}

}  // namespace gw::link
