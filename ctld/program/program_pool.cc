// A queue and the threads that serve it.
#include "ctld/program/program_pool.h"

namespace gw::ctld {

ProgramPool::~ProgramPool() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
    waiting_.clear();
  }
  wanted_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void ProgramPool::add(std::function<void()> work) {
  const std::lock_guard lock(mutex_);
  waiting_.push_back(std::move(work));
  if (waiting_.size() > idle_ && threads_.size() < kMaxThreads) threads_.emplace_back([this] { serve(); });
  wanted_.notify_one();
}

size_t ProgramPool::threads() const {
  const std::lock_guard lock(mutex_);
  return threads_.size();
}

void ProgramPool::serve() {
  std::unique_lock lock(mutex_);
  for (;;) {
    ++idle_;
    wanted_.wait(lock, [this] { return is_ending_ || !waiting_.empty(); });
    --idle_;
    if (is_ending_) return;
    std::function<void()> work = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    work();
    work = nullptr;  // what it holds goes before the lock is taken
    lock.lock();
  }
}

}  // namespace gw::ctld
