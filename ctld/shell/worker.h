// A thread for what may take long or hang and therefore stays off the event loop: reading files, the database, the user
// database. Invariants: one piece of work runs at a time; users' work is taken in turn, so that who asks for much
// delays nobody else by more than one piece; what a piece returns runs on the loop.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

#include "io/loop.h"

namespace gw::ctld {

class Worker {
 public:
  using Then = std::function<void()>;
  using Work = std::function<Then()>;  ///< Runs on the thread; what it returns, if anything, runs on the loop.

  explicit Worker(io::Loop& loop);
  /// Waits for the piece under way; the others are dropped.
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  void ask(uint32_t uid, Work work);

 private:
  io::Poster poster_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<uint32_t> users_;  // those with work, in turn
  std::map<uint32_t, std::deque<Work>> work_;
  bool is_stopping_ = false;
  std::thread thread_;

  void run();
  Work take();
};

}  // namespace gw::ctld
