// Runs administrators' programs (fencing, prolog and epilog) beside each other, off the event loop. Invariants: there
// are at most so many threads as it was made for, however many programs are asked for, and none before the first; what
// is asked for beyond that waits its turn.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

namespace gw::program {

class ProgramPool {
 public:
  static constexpr size_t kMaxThreads = 16;  ///< Where who makes it says no other number.
  /// What becomes of programs that run when the pool goes: it waits for them, or leaves their threads behind, which end
  /// with the process at the latest.
  enum class AtEnd : uint8_t { kWait, kLeave };

  explicit ProgramPool(size_t most_threads = kMaxThreads, AtEnd at_end = AtEnd::kWait);
  /// Forgets what waits.
  ~ProgramPool();
  ProgramPool(const ProgramPool&) = delete;
  ProgramPool& operator=(const ProgramPool&) = delete;

  /// Runs `work` soon on a thread of the pool. With kLeave it must own or share all that it uses.
  void add(std::function<void()> work);
  /// Threads that there are, busy or not.
  size_t threads() const;

 private:
  struct Queue;
  std::shared_ptr<Queue> queue_;
  size_t most_threads_;
  AtEnd at_end_;
};

}  // namespace gw::program
