// The writer thread.
#include "ctld/shell/committer.h"

#include <iterator>
#include <utility>

#include "base/check.h"

namespace gw::ctld {

Committer::Committer(io::Loop& loop, std::unique_ptr<store::Store> store, ReleaseFn release, FaultFn on_fault)
    : poster_(loop.poster()),
      store_(std::move(store)),
      release_(std::move(release)),
      on_fault_(std::move(on_fault)),
      thread_([this] { work(); }) {}

Committer::~Committer() {
  *alive_ = false;
  fetch_owed();
  {
    const std::lock_guard lock(mutex_);
    std::move(open_writes_.begin(), open_writes_.end(), std::back_inserter(next_));
    is_stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void Committer::add(store::Batch writes, std::vector<Outgoing> out, HeldMemory::Charge charge, bool owes) {
  if (writes.empty() && !owes && is_idle()) {
    if (!out.empty()) release_(std::move(out));
    return;
  }
  is_owed_ |= owes;
  if (!writes.empty()) open_writes_.push_back(std::move(writes));
  open_out_.insert(open_out_.end(), std::make_move_iterator(out.begin()), std::make_move_iterator(out.end()));
  if (charge) open_charges_.push_back(std::move(charge));
  if (!in_flight_ && has_open_writes()) begin();
}

/// What was owed may have come to nothing.
void Committer::begin() {
  fetch_owed();
  if (!open_writes_.empty()) return launch();
  const std::vector<HeldMemory::Charge> charges = std::exchange(open_charges_, {});  // until `ready` has been released
  std::vector<Outgoing> ready = std::exchange(open_out_, {});
  if (!ready.empty()) release_(std::move(ready));
}

void Committer::fetch_owed() {
  if (!std::exchange(is_owed_, false)) return;
  GW_CHECK(owed_fn_ != nullptr);
  if (store::Batch rows = owed_fn_(); !rows.empty()) open_writes_.push_back(std::move(rows));
}

void Committer::launch() {
  in_flight_ = true;
  flying_out_ = std::exchange(open_out_, {});
  flying_charges_ = std::exchange(open_charges_, {});
  {
    const std::lock_guard lock(mutex_);
    next_ = std::exchange(open_writes_, {});
  }
  wake_.notify_one();
}

void Committer::on_durable() {
  ++commits_;
  in_flight_ = false;
  std::vector<Outgoing> out = std::exchange(flying_out_, {});
  const std::vector<HeldMemory::Charge> charges = std::exchange(flying_charges_, {});  // until `out` has been released
  if (is_faulty_) {
    is_faulty_ = false;
    on_fault_("");
  }
  // What came meanwhile and writes nothing depended on this group alone.
  fetch_owed();
  if (open_writes_.empty()) {
    out.insert(out.end(), std::make_move_iterator(open_out_.begin()), std::make_move_iterator(open_out_.end()));
    open_out_.clear();
    open_charges_.clear();
  } else {
    launch();
  }
  if (!out.empty()) release_(std::move(out));
}

/// False: told to stop before it worked. What came after it must not be written either.
bool Committer::commit(const std::vector<store::Batch>& writes) {
  constexpr auto kRetry = std::chrono::milliseconds(500);
  while (true) {
    const base::Status done = store_->commit(writes);
    if (done) {
      poster_.post([this, alive = alive_] {
        if (*alive) on_durable();
      });
      return true;
    }
    poster_.post([this, alive = alive_, why = done.error().text()] {
      if (!*alive) return;
      is_faulty_ = true;
      on_fault_(why);
    });
    std::unique_lock lock(mutex_);
    if (wake_.wait_for(lock, kRetry, [this] { return is_stopping_; })) return false;
  }
}

void Committer::retire(store::RetireOrder order, RetiredFn fn) {
  {
    const std::lock_guard lock(mutex_);
    retiring_.emplace(std::move(order), std::move(fn));
  }
  wake_.notify_one();
}

void Committer::retire_some(std::unique_lock<std::mutex> lock) {
  const auto [order, fn] = std::move(*retiring_);
  retiring_.reset();
  lock.unlock();
  poster_.post([alive = alive_, fn = fn, gone = store_->retire(order)] {
    if (*alive) fn(gone);
  });
}

void Committer::work() {
  while (true) {
    std::vector<store::Batch> writes;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [this] { return is_stopping_ || !next_.empty() || retiring_; });
      if (next_.empty() && is_stopping_) return;
      if (next_.empty()) {
        retire_some(std::move(lock));
        continue;
      }
      writes = std::exchange(next_, {});
    }
    if (!commit(writes)) return;
  }
}

}  // namespace gw::ctld
