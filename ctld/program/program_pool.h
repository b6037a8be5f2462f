// Runs administrators' programs (fencing) beside each other, off the event loop. Invariants: there are at most
// kMaxThreads threads, however many programs are asked for, and none before the first; what is asked for beyond that
// waits its turn.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "ctld/program/run_program.h"

namespace gw::ctld {

class ProgramPool {
 public:
  static constexpr size_t kMaxThreads = 16;

  ProgramPool() = default;
  /// Forgets what waits, and returns when the programs that run have ended.
  ~ProgramPool();
  ProgramPool(const ProgramPool&) = delete;
  ProgramPool& operator=(const ProgramPool&) = delete;

  /// Runs `work` soon on a thread of the pool.
  void add(std::function<void()> work);
  /// Threads that there are, busy or not.
  size_t threads() const;

 private:
  mutable std::mutex mutex_;
  std::condition_variable wanted_;
  std::deque<std::function<void()>> waiting_;
  std::vector<std::thread> threads_;
  size_t idle_ = 0;
  bool is_ending_ = false;

  void serve();
};

}  // namespace gw::ctld
