// Backups beside the service: one at a time, on a thread of their own, so that no commit waits for one.
// Invariants: done() is called on the loop, once for each backup, never after destruction; destruction ends a backup
// under way, whose file then does not appear.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "base/result.h"
#include "io/loop.h"

namespace gw::ctld {

class Backups {
 public:
  using DoneFn = std::function<void(const base::Result<uint64_t>&)>;
  /// Writes the copy and returns its size in bytes; gives up soon after `keep_going` turns false.
  using CopyFn =
      std::function<base::Result<uint64_t>(const std::string& path, const std::function<bool()>& keep_going)>;

  Backups(io::Loop& loop, CopyFn copy);
  ~Backups();
  Backups(const Backups&) = delete;
  Backups& operator=(const Backups&) = delete;

  /// Begins a backup. Error kConflict: another one is under way; `done` is not called then.
  base::Status start(const std::string& path, DoneFn done);

 private:
  io::Poster poster_;
  CopyFn copy_;
  std::string path_;  // of the one under way
  std::atomic<bool> is_stopping_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  std::thread thread_;
};

}  // namespace gw::ctld
