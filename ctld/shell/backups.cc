// The backup thread.
#include "ctld/shell/backups.h"

#include "base/text.h"

namespace gw::ctld {

Backups::Backups(io::Loop& loop, CopyFn copy) : poster_(loop.poster()), copy_(std::move(copy)) {}

Backups::~Backups() {
  *alive_ = false;
  is_stopping_ = true;
  if (thread_.joinable()) thread_.join();
}

base::Status Backups::start(const std::string& path, DoneFn done) {
  if (!path_.empty())
    return base::fail(base::ErrorCode::kConflict, "a backup to " + base::printable(path_) + " is under way",
                      "wait for its end");
  if (thread_.joinable()) thread_.join();  // its last words have been heard
  path_ = path.empty() ? "?" : path;
  thread_ = std::thread([this, path, done = std::move(done)] {
    const base::Result<uint64_t> result = copy_(path, [this] { return !is_stopping_; });
    poster_.post([this, alive = alive_, done, result] {
      if (!*alive) return;
      path_.clear();
      done(result);
    });
  });
  return {};
}

}  // namespace gw::ctld
