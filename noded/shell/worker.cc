// A thread for calls that may block: the implementation.
// Invariants: see worker.h.
#include "noded/shell/worker.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

namespace gw::noded {

struct Worker::Queue {
  std::mutex mutex;
  std::condition_variable wake;
  std::deque<std::function<void()>> work;
  bool is_stopping = false;

  void serve() {
    std::unique_lock lock(mutex);
    for (;;) {
      wake.wait(lock, [&] { return is_stopping || !work.empty(); });
      if (is_stopping) return;
      const std::function<void()> next = std::move(work.front());
      work.pop_front();
      lock.unlock();
      next();
      lock.lock();
    }
  }
};

Worker::Worker() : queue_(std::make_shared<Queue>()) {
  std::thread([queue = queue_] { queue->serve(); }).detach();
}

Worker::~Worker() {
  const std::lock_guard lock(queue_->mutex);
  queue_->is_stopping = true;
  queue_->wake.notify_all();
}

void Worker::submit(std::function<void()> work) {
  const std::lock_guard lock(queue_->mutex);
  queue_->work.push_back(std::move(work));
  queue_->wake.notify_one();
}

}  // namespace gw::noded
