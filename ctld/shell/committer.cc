// The writer thread.
#include "ctld/shell/committer.h"

#include <iterator>

namespace gw::ctld {

Committer::Committer(io::Loop& loop, std::unique_ptr<store::Store> store, ReleaseFn release, FaultFn on_fault)
    : poster_(loop.poster()),
      store_(std::move(store)),
      release_(std::move(release)),
      on_fault_(std::move(on_fault)),
      thread_([this] { work(); }) {}

Committer::~Committer() {
  *alive_ = false;
  {
    const std::lock_guard lock(mutex_);
    if (!open_writes_.empty()) queue_.push_back(Work{std::move(open_writes_), {}});
    is_stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void Committer::add(store::Batch writes, std::vector<Outgoing> out) {
  if (writes.empty() && is_idle()) {
    if (!out.empty()) release_(std::move(out));
    return;
  }
  if (!writes.empty()) open_writes_.push_back(std::move(writes));
  open_out_.insert(open_out_.end(), std::make_move_iterator(out.begin()), std::make_move_iterator(out.end()));
  if (!in_flight_) launch();
}

void Committer::launch() {
  in_flight_ = true;
  flying_out_ = std::move(open_out_);
  open_out_.clear();
  Work work{std::move(open_writes_), {}};
  open_writes_.clear();
  enqueue(std::move(work));
}

void Committer::on_durable() {
  in_flight_ = false;
  std::vector<Outgoing> out = std::move(flying_out_);
  flying_out_.clear();
  if (is_faulty_) {
    is_faulty_ = false;
    on_fault_("");
  }
  // What came meanwhile and writes nothing depended on this group alone.
  if (open_writes_.empty()) {
    out.insert(out.end(), std::make_move_iterator(open_out_.begin()), std::make_move_iterator(open_out_.end()));
    open_out_.clear();
  } else {
    launch();
  }
  if (!out.empty()) release_(std::move(out));
}

void Committer::run(std::function<void(store::Store&)> fn) { enqueue(Work{{}, std::move(fn)}); }

void Committer::enqueue(Work work) {
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(work));
  }
  wake_.notify_one();
}

void Committer::commit(const std::vector<store::Batch>& writes) {
  constexpr auto kRetry = std::chrono::milliseconds(500);
  while (true) {
    const base::Status done = store_->commit(writes);
    if (done) {
      poster_.post([this, alive = alive_] {
        if (*alive) on_durable();
      });
      return;
    }
    poster_.post([this, alive = alive_, why = done.error().text()] {
      if (!*alive) return;
      is_faulty_ = true;
      on_fault_(why);
    });
    std::unique_lock lock(mutex_);
    if (wake_.wait_for(lock, kRetry, [this] { return is_stopping_; })) return;
  }
}

void Committer::work() {
  while (true) {
    Work work;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [this] { return is_stopping_ || !queue_.empty(); });
      if (queue_.empty()) return;
      work = std::move(queue_.front());
      queue_.erase(queue_.begin());
    }
    if (work.task)
      work.task(*store_);
    else
      commit(work.writes);
  }
}

}  // namespace gw::ctld
