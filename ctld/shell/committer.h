// The writer thread: takes groups of writes, commits each group in one transaction, and says when it is durable.
// Invariants: one group is under way at a time; what is added meanwhile forms the next group (group commit); what
// depends on a group is released only after it is durable, in order; a group that fails is kept and tried again.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "ctld/core/effects.h"
#include "ctld/shell/held_memory.h"
#include "io/loop.h"
#include "store/store.h"

namespace gw::ctld {

class Committer {
 public:
  using ReleaseFn = std::function<void(std::vector<Outgoing>)>;
  using FaultFn = std::function<void(const std::string& why)>;  ///< Empty: it works again.

  /// `release` and `on_fault` are called on the loop.
  Committer(io::Loop& loop, std::unique_ptr<store::Store> store, ReleaseFn release, FaultFn on_fault);
  /// Commits what is waiting, once, and ends the thread.
  ~Committer();
  Committer(const Committer&) = delete;
  Committer& operator=(const Committer&) = delete;

  /// Adds effects; called on the loop. Without writes under way or waiting they are released at once. `charge` is what
  /// they count for while they are held; it goes when they are released. With `owes` more writes belong to them, which
  /// are fetched when their group is closed.
  void add(store::Batch writes, std::vector<Outgoing> out, HeldMemory::Charge charge = {}, bool owes = false);
  /// Fetches the writes that are owed; called on the loop, at the latest by the destructor. To be set before anything
  /// that owes is added.
  void on_owed(std::function<store::Batch()> fn) { owed_fn_ = std::move(fn); }
  using RetiredFn = std::function<void(const base::Result<uint64_t>&)>;
  /// Has some old rows leave the store once no group waits to be written; `fn` is called on the loop. One at a time.
  void retire(store::RetireOrder order, RetiredFn fn);
  struct Figures {
    uint64_t commits = 0;  ///< Transactions that became durable.
    uint64_t rows = 0, most_rows = 0;
    base::Duration all = {}, longest = {};  ///< How long they took.
    uint64_t waiting = 0;                   ///< Changes for the next one.
  };
  Figures figures() const;
  uint64_t commits() const { return figures_.commits; }
  /// Nothing is under way or waits.
  bool is_idle() const { return !in_flight_ && !has_open_writes() && open_.out.empty(); }

 private:
  /// What is added while a group is under way: the next group.
  struct Open {
    std::vector<store::Batch> writes;
    std::vector<Outgoing> out;
    std::vector<HeldMemory::Charge> charges;
    bool is_owed = false;  ///< More writes belong to it.
  };
  /// What depends on the group that is under way.
  struct Flying {
    std::vector<Outgoing> out;
    std::vector<HeldMemory::Charge> charges;
    uint64_t rows = 0;
    base::Duration since = {};
  };
  /// What the loop and the thread share, under the mutex.
  struct Shared {
    std::mutex mutex;
    std::condition_variable wake;
    std::vector<store::Batch> next;  ///< At most one group.
    std::optional<std::pair<store::RetireOrder, RetiredFn>> retiring;
    bool is_stopping = false;
  };

  io::Poster poster_;
  std::unique_ptr<store::Store> store_;
  ReleaseFn release_;
  FaultFn on_fault_;
  // on the loop
  Open open_;
  Flying flying_;
  Figures figures_;
  std::function<store::Batch()> owed_fn_;
  bool in_flight_ = false;
  bool is_faulty_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  Shared shared_;
  std::thread thread_;

  bool has_open_writes() const { return open_.is_owed || !open_.writes.empty(); }
  void fetch_owed();
  void begin();
  void launch();
  void on_durable();
  void work();
  bool commit(const std::vector<store::Batch>& writes);
  void retire_some(std::unique_lock<std::mutex> lock);
};

}  // namespace gw::ctld
