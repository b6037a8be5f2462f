// See progress_pipe.h.
#include "cmds/gangway/verbs/progress_pipe.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace gw::cmds {
namespace {

/// Tells in a thread of its own: an answer may take its time, and the job is not to wait for it.
class Teller {
 public:
  Teller(base::Duration every, const std::function<void(const wire::ProgressRequest&)>& tell)
      : every_(std::chrono::microseconds(every.us)), tell_(tell), thread_([this] { run(); }) {}
  ~Teller() {
    {
      const std::lock_guard lock(mutex_);
      is_over_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }
  Teller(const Teller&) = delete;
  Teller& operator=(const Teller&) = delete;

  void put(wire::ProgressRequest said) {
    {
      const std::lock_guard lock(mutex_);
      latest_ = std::move(said);
    }
    changed_.notify_one();
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return is_over_ || latest_; });
      if (!latest_) return;
      const wire::ProgressRequest said = *std::exchange(latest_, std::nullopt);
      lock.unlock();
      tell_(said);
      lock.lock();
      changed_.wait_for(lock, every_, [this] { return is_over_; });
    }
  }

  const std::chrono::microseconds every_;
  const std::function<void(const wire::ProgressRequest&)>& tell_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<wire::ProgressRequest> latest_;
  bool is_over_ = false;
  std::thread thread_;  // the last: it uses all of these
};

base::Status write_all(int out, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(out, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return base::fail_errno("cannot write what was read", errno);
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return {};
}

}  // namespace

base::Status read_through(int in, int out, ProgressLines lines, base::Duration every,
                          const std::function<void(const wire::ProgressRequest&)>& tell) {
  Teller teller(every, tell);
  std::array<char, 64 * 1024> buffer;
  for (;;) {
    const ssize_t n = ::read(in, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return base::fail_errno("cannot read what the job prints", errno);
    if (n == 0) break;
    const std::string_view printed(buffer.data(), static_cast<size_t>(n));
    GW_TRY_STATUS(write_all(out, printed));
    lines.read(printed);
    if (auto said = lines.take()) teller.put(std::move(*said));
  }
  lines.read("\n");
  if (auto said = lines.take()) teller.put(std::move(*said));
  return {};
}

}  // namespace gw::cmds
