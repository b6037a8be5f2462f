// Checks and locks of the state folder. See state_dir.h.
#include "store/state_dir.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <thread>

#include "base/text.h"

namespace gw::store {
namespace {

using base::ErrorCode;

base::Status check_rights(const std::string& dir, const struct stat& st) {
  if (!S_ISDIR(st.st_mode)) return base::invalid(dir + " is not a folder", "give a folder as state_dir");
  if (st.st_uid != geteuid() && st.st_uid != 0)
    return base::fail(ErrorCode::kDenied,
                      fmt::format("the state folder {} belongs to uid {}, and this program runs as uid {}", dir,
                                  st.st_uid, geteuid()),
                      fmt::format("run as the controller's user, or `chown -R {} {}`", geteuid(), dir));
  if ((st.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return base::fail(ErrorCode::kDenied,
                      fmt::format("the state folder {} is writable for others (mode {:04o})", dir, st.st_mode & 07777),
                      "chmod go-w " + dir);
  return {};
}

// SQLite's WAL needs shared memory and true locks, which network file systems do not give.
std::string network_warning(const std::string& dir) {
  constexpr int64_t kNfs = 0x6969, kSmb2 = 0xFE534D42, kCifs = 0xFF534D42, kLustre = 0x0BD00BD0, kFuse = 0x65735546;
  struct statfs fs {};
  if (statfs(dir.c_str(), &fs) != 0) return {};
  auto type = static_cast<int64_t>(fs.f_type) & 0xFFFFFFFF;
  bool is_remote = type == kNfs || type == kSmb2 || type == kCifs || type == kLustre || type == kFuse;
  return is_remote ? "the state folder " + dir + " is on a network file system: use a local disk" : std::string();
}

/// flock() has no time limit of its own. False with errno.
bool lock_within(int fd, int patience_ms) {
  constexpr int kPauseMs = 20;
  for (int waited = 0;; waited += kPauseMs) {
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) return true;
    if (errno != EWOULDBLOCK || waited >= patience_ms) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(kPauseMs));
  }
}

}  // namespace

base::Result<std::string> check_state_dir(const std::string& dir) {
  if (dir.empty() || dir[0] != '/')
    return base::invalid(fmt::format("the state folder \"{}\" is not an absolute path", base::printable(dir)),
                         "write it from / on");
  if (mkdir(dir.c_str(), 0700) != 0 && errno != EEXIST)
    return base::fail_errno("cannot create the state folder " + dir, errno, "its parent must exist and be writable");
  struct stat st {};
  if (stat(dir.c_str(), &st) != 0) return base::fail_errno("cannot use the state folder " + dir, errno);
  GW_TRY_STATUS(check_rights(dir, st));
  return network_warning(dir);
}

base::Result<StateLock> StateLock::take(const std::string& dir, int patience_ms) {
  std::string file = dir + "/lock";
  int fd = open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return base::fail_errno("cannot open " + file, errno, "check the rights of " + dir);
  StateLock lock(fd);
  if (!lock_within(fd, patience_ms)) {
    if (errno != EWOULDBLOCK) return base::fail_errno("cannot lock " + file, errno);
    char pid[16] = {};
    ssize_t got = pread(fd, pid, sizeof pid - 1, 0);
    std::string_view holder = got > 0 ? base::trim({pid, static_cast<size_t>(got)}) : std::string_view("unknown");
    return base::fail(ErrorCode::kConflict,
                      fmt::format("the state folder {} is in use by another controller (pid {})", dir, holder),
                      "stop that one first, or give this one a state_dir of its own");
  }
  // Only told to people: a full disk must not keep a controller from starting, so a failure is let pass.
  std::string pid = fmt::format("{}\n", getpid());
  if (ftruncate(fd, 0) != 0 || pwrite(fd, pid.data(), pid.size(), 0) < 0) errno = 0;
  return lock;
}

StateLock::~StateLock() {
  if (fd_ >= 0) close(fd_);
}

base::Result<bool> make_private_file(const std::string& file) {
  int fd = open(file.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd >= 0) {
    close(fd);
    return true;
  }
  if (errno != EEXIST) return base::fail_errno("cannot create " + file, errno, "check space and rights of its folder");
  struct stat st {};
  if (stat(file.c_str(), &st) != 0) return base::fail_errno("cannot read " + file, errno);
  if (!S_ISREG(st.st_mode)) return base::invalid(file + " is not a regular file", "move it away");
  if ((st.st_mode & 0077) != 0 && chmod(file.c_str(), 0600) != 0)
    return base::fail_errno("cannot keep others from reading " + file, errno, "chmod 0600 " + file);
  return false;
}

base::Status sync_dir(const std::string& dir) {
  int fd = open(dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return base::fail_errno("cannot open " + dir, errno);
  int failed = fsync(fd) == 0 ? 0 : errno;
  close(fd);
  if (failed != 0) return base::fail_errno("cannot sync " + dir, failed);
  return {};
}

}  // namespace gw::store
