// The writer thread.
#include "ctld/shell/committer.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/check.h"

namespace gw::ctld {
namespace {

uint64_t rows_of(const std::vector<store::Batch>& batches) {
  uint64_t rows = 0;
  for (const store::Batch& batch : batches) rows += batch.size();
  return rows;
}

}  // namespace

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
    const std::lock_guard lock(shared_.mutex);
    std::move(open_.writes.begin(), open_.writes.end(), std::back_inserter(shared_.next));
    shared_.is_stopping = true;
  }
  shared_.wake.notify_all();
  thread_.join();
}

void Committer::add(store::Batch writes, std::vector<Outgoing> out, HeldMemory::Charge charge, bool owes) {
  if (writes.empty() && !owes && is_idle()) {
    if (!out.empty()) release_(std::move(out));
    return;
  }
  open_.is_owed |= owes;
  if (!writes.empty()) open_.writes.push_back(std::move(writes));
  open_.out.insert(open_.out.end(), std::make_move_iterator(out.begin()), std::make_move_iterator(out.end()));
  if (charge) open_.charges.push_back(std::move(charge));
  if (!in_flight_ && has_open_writes()) begin();
}

/// What was owed may have come to nothing.
void Committer::begin() {
  fetch_owed();
  if (!open_.writes.empty()) return launch();
  const std::vector<HeldMemory::Charge> charges = std::exchange(open_.charges, {});  // until `ready` has been released
  std::vector<Outgoing> ready = std::exchange(open_.out, {});
  if (!ready.empty()) release_(std::move(ready));
}

Committer::Figures Committer::figures() const {
  Figures out = figures_;
  out.waiting = open_.writes.size();
  return out;
}

void Committer::fetch_owed() {
  if (!std::exchange(open_.is_owed, false)) return;
  GW_CHECK(owed_fn_ != nullptr);
  if (store::Batch rows = owed_fn_(); !rows.empty()) open_.writes.push_back(std::move(rows));
}

void Committer::launch() {
  in_flight_ = true;
  flying_.out = std::exchange(open_.out, {});
  flying_.charges = std::exchange(open_.charges, {});
  flying_.rows = rows_of(open_.writes);
  flying_.since = io::Loop::monotonic();
  {
    const std::lock_guard lock(shared_.mutex);
    shared_.next = std::exchange(open_.writes, {});
  }
  shared_.wake.notify_one();
}

void Committer::on_durable() {
  const base::Duration took = io::Loop::monotonic() - flying_.since;
  ++figures_.commits;
  figures_.rows += flying_.rows;
  figures_.most_rows = std::max(figures_.most_rows, flying_.rows);
  figures_.all = figures_.all + took;
  figures_.longest = std::max(figures_.longest, took);
  in_flight_ = false;
  std::vector<Outgoing> out = std::exchange(flying_.out, {});
  const std::vector<HeldMemory::Charge> charges = std::exchange(flying_.charges, {});  // until `out` has been released
  if (is_faulty_) {
    is_faulty_ = false;
    on_fault_("");
  }
  // What came meanwhile and writes nothing depended on this group alone.
  fetch_owed();
  if (open_.writes.empty()) {
    out.insert(out.end(), std::make_move_iterator(open_.out.begin()), std::make_move_iterator(open_.out.end()));
    open_.out.clear();
    open_.charges.clear();
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
    std::unique_lock lock(shared_.mutex);
    if (shared_.wake.wait_for(lock, kRetry, [this] { return shared_.is_stopping; })) return false;
  }
}

void Committer::retire(store::RetireOrder order, RetiredFn fn) {
  {
    const std::lock_guard lock(shared_.mutex);
    shared_.retiring.emplace(std::move(order), std::move(fn));
  }
  shared_.wake.notify_one();
}

void Committer::retire_some(std::unique_lock<std::mutex> lock) {
  const auto [order, fn] = std::move(*shared_.retiring);
  shared_.retiring.reset();
  lock.unlock();
  poster_.post([alive = alive_, fn = fn, gone = store_->retire(order)] {
    if (*alive) fn(gone);
  });
}

void Committer::work() {
  while (true) {
    std::vector<store::Batch> writes;
    {
      std::unique_lock lock(shared_.mutex);
      shared_.wake.wait(lock, [this] { return shared_.is_stopping || !shared_.next.empty() || shared_.retiring; });
      if (shared_.next.empty() && shared_.is_stopping) return;
      if (shared_.next.empty()) {
        retire_some(std::move(lock));
        continue;
      }
      writes = std::exchange(shared_.next, {});
    }
    if (!commit(writes)) return;
  }
}

}  // namespace gw::ctld
