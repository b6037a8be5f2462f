// A queue and the threads that serve it.
#include "program/program_pool.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

namespace gw::program {

struct ProgramPool::Queue {
  std::mutex mutex;
  std::condition_variable wanted, ended;
  std::deque<std::function<void()>> waiting;
  size_t threads = 0, idle = 0;
  bool is_ending = false;

  void serve() {
    std::unique_lock lock(mutex);
    for (;;) {
      ++idle;
      wanted.wait(lock, [this] { return is_ending || !waiting.empty(); });
      --idle;
      if (is_ending) break;
      std::function<void()> work = std::move(waiting.front());
      waiting.pop_front();
      lock.unlock();
      work();
      work = nullptr;  // what it holds goes before the lock is taken
      lock.lock();
    }
    --threads;
    ended.notify_all();
  }
};

ProgramPool::ProgramPool(size_t most_threads, AtEnd at_end)
    : queue_(std::make_shared<Queue>()), most_threads_(most_threads), at_end_(at_end) {}

ProgramPool::~ProgramPool() {
  std::unique_lock lock(queue_->mutex);
  queue_->is_ending = true;
  queue_->waiting.clear();
  queue_->wanted.notify_all();
  if (at_end_ == AtEnd::kWait) queue_->ended.wait(lock, [this] { return queue_->threads == 0; });
}

void ProgramPool::add(std::function<void()> work) {
  const std::lock_guard lock(queue_->mutex);
  queue_->waiting.push_back(std::move(work));
  if (queue_->waiting.size() > queue_->idle && queue_->threads < most_threads_) {
    ++queue_->threads;
    std::thread([queue = queue_] { queue->serve(); }).detach();
  }
  queue_->wanted.notify_one();
}

size_t ProgramPool::threads() const {
  const std::lock_guard lock(queue_->mutex);
  return queue_->threads;
}

}  // namespace gw::program
