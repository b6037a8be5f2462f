// See worker.h.
#include "ctld/shell/worker.h"

#include <utility>

namespace gw::ctld {

Worker::Worker(io::Loop& loop) : poster_(loop.poster()), thread_([this] { run(); }) {}

Worker::~Worker() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void Worker::ask(uint32_t uid, Work work) {
  {
    const std::lock_guard lock(mutex_);
    std::deque<Work>& mine = work_[uid];
    if (mine.empty()) users_.push_back(uid);
    mine.push_back(std::move(work));
  }
  wake_.notify_one();
}

/// The next user's oldest; with the mutex held.
Worker::Work Worker::take() {
  const uint32_t uid = users_.front();
  users_.pop_front();
  std::deque<Work>& mine = work_.at(uid);
  Work work = std::move(mine.front());
  mine.pop_front();
  if (mine.empty())
    work_.erase(uid);
  else
    users_.push_back(uid);
  return work;
}

void Worker::run() {
  while (true) {
    Work work;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [this] { return is_stopping_ || !users_.empty(); });
      if (is_stopping_) return;
      work = take();
    }
    if (Then then = work()) poster_.post(std::move(then));
  }
}

}  // namespace gw::ctld
