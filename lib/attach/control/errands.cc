// The thread of requests.
#include "attach/control/errands.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

namespace gw::attach {

struct Errands::Shared {
  struct Errand {
    wire::ApiRequest request;
    std::shared_ptr<ReplyFn> fn;
  };
  Shared(io::Poster p, OpenFn o) : poster(std::move(p)), open(std::move(o)) {}

  io::Poster poster;
  OpenFn open;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Errand> queue;
  bool is_closed = false;   // read by the loop's thread without the lock: it alone sets it
  bool is_running = false;  // the thread was started

  std::optional<Errand> next() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [this] { return is_closed || !queue.empty(); });
    if (is_closed) return std::nullopt;
    Errand errand = std::move(queue.front());
    queue.pop_front();
    return errand;
  }
};

Errands::Errands(io::Loop& loop, OpenFn open) : shared_(std::make_shared<Shared>(loop.poster(), std::move(open))) {}

Errands::Errands(io::Loop& loop, client::Program program, config::Config config)
    : Errands(loop, [program = std::move(program), config = std::move(config)] {
        return client::open_connection(program, config);
      }) {}

Errands::~Errands() {
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->is_closed = true;
  }
  shared_->changed.notify_all();
}

void Errands::call(wire::ApiRequest request, ReplyFn fn) {
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->queue.push_back({std::move(request), std::make_shared<ReplyFn>(std::move(fn))});
  }
  shared_->changed.notify_all();
  if (std::exchange(shared_->is_running, true)) return;
  std::thread([shared = shared_] { work(shared); }).detach();
}

void Errands::work(const std::shared_ptr<Shared>& shared) {
  std::optional<client::Connection> connection;
  while (auto errand = shared->next()) {
    base::Result<wire::ApiReply> reply = base::fail(base::ErrorCode::kUnavailable, "no connection");
    if (!connection) {
      auto opened = shared->open();
      if (opened)
        connection.emplace(std::move(*opened));
      else
        reply = base::pass(opened);
    }
    if (connection) reply = connection->call(std::move(errand->request));
    shared->poster.post([shared, fn = std::move(errand->fn), reply = std::move(reply)]() mutable {
      if (!shared->is_closed) (*fn)(std::move(reply));
    });
  }
}

}  // namespace gw::attach
