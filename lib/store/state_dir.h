// The folder that holds the state: who may own it, and that one controller at a time uses it.
// Invariant: no other user can write below a folder that passed check_state_dir().
#pragma once

#include <string>

#include "base/result.h"

namespace gw::store {

/// Checks that `dir` is a folder owned by this process's user or root and writable for nobody else; creates it with
/// mode 0700 if it is missing (its parent must exist). Returns a warning fit for people, or "" (a network file system).
base::Result<std::string> check_state_dir(const std::string& dir);

/// Exclusive use of a state folder, held until destruction or the death of the process.
class StateLock {
 public:
  /// Takes `dir`/lock, for which it waits up to `patience_ms`: a controller that was killed holds it until its last
  /// thread has left the disk, which is after its end shows. Error kConflict names the process that holds it.
  static base::Result<StateLock> take(const std::string& dir, int patience_ms);
  StateLock(StateLock&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  StateLock& operator=(StateLock&&) = delete;
  ~StateLock();

 private:
  explicit StateLock(int fd) : fd_(fd) {}
  int fd_;
};

/// Creates `file` with mode 0600 if it is missing, takes the rights of others from it if it is there. Returns true if
/// it was created.
base::Result<bool> make_private_file(const std::string& file);

/// Syncs a folder, so that names made in it survive power loss.
base::Status sync_dir(const std::string& dir);

}  // namespace gw::store
