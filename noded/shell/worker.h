// A thread for calls that may block for long (user databases, cgroups in trouble), so that heartbeats continue.
// Invariant: work is done in order, one at a time; a call that never returns holds up nothing but later work of the
// same worker, not even the end of the process.
#pragma once

#include <functional>
#include <memory>

namespace gw::noded {

class Worker {
 public:
  Worker();
  /// Does not wait: work under way is left behind.
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// `work` must own or share all that it uses; results go back through an io::Poster.
  void submit(std::function<void()> work);

 private:
  struct Queue;
  std::shared_ptr<Queue> queue_;
};

}  // namespace gw::noded
