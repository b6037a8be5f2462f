// Writing a file that is there whole or not at all.
#include "noded/step/bcast/destination.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "auth/crypto.h"
#include "base/text.h"
#include "noded/step/proc/files.h"

namespace gw::noded::step {
namespace {

constexpr int64_t kNanoseconds = 1'000'000'000;
constexpr unsigned kPermissions = 0777, kAllBits = 07777;

tl::unexpected<base::Error> trouble(const std::string& path, int error, const std::string& hint = {}) {
  return base::fail_errno(base::printable(path), error, hint);
}

timespec time_of(int64_t ns) {
  timespec t{};
  t.tv_sec = static_cast<time_t>(ns / kNanoseconds);
  t.tv_nsec = static_cast<long>(ns % kNanoseconds);
  if (t.tv_nsec < 0) {
    t.tv_nsec += kNanoseconds;
    --t.tv_sec;
  }
  return t;
}

std::string proc_name(int fd) { return "/proc/self/fd/" + std::to_string(fd); }

}  // namespace

Destination::~Destination() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

base::Result<Destination> Destination::open(const std::string& path, const wire::BcastHeader& header) {
  Destination d;
  d.path_ = path;
  struct stat there {};
  const bool is_there = ::stat(path.c_str(), &there) == 0;
  if (path.ends_with('/') || (is_there && S_ISDIR(there.st_mode))) {
    if (!is_there) return trouble(path, errno);
    d.path_ += (path.ends_with('/') ? "" : "/") + header.name();
  }
  d.folder_ = d.path_.substr(0, d.path_.rfind('/') + 1);
  if (::lstat(d.path_.c_str(), &there) == 0) {
    if (!header.force()) return trouble(d.path_, EEXIST, "--force replaces it");
    if (S_ISDIR(there.st_mode)) return trouble(d.path_, EISDIR);
    if (!S_ISREG(there.st_mode) && !S_ISLNK(there.st_mode))
      return base::invalid(base::printable(d.path_) + " is no file", "name another");
  }
  GW_TRY_STATUS(d.make());
  if (header.size() > 0 && ::fallocate(d.fd_.get(), FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(header.size())) != 0)
    if (errno == ENOSPC || errno == EFBIG || errno == EDQUOT) return trouble(d.path_, errno);
  return d;
}

base::Status Destination::make() {
  fd_ = proc::OwnedFd(::open(folder_.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, kPermissions));
  if (fd_) return {};
  if (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL && errno != ENOENT) return trouble(folder_, errno);
  temporary_ = fresh_name();
  fd_ = proc::OwnedFd(::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kPermissions));
  if (fd_) return {};
  const int error = errno;
  temporary_.clear();
  return trouble(folder_, error);
}

std::string Destination::fresh_name() const {
  const auth::Bytes32 random = auth::random_bytes32();
  char digits[17];
  for (size_t i = 0; i < 8; ++i) std::snprintf(digits + 2 * i, 3, "%02x", random[i]);
  return folder_ + ".gbcast-" + digits;
}

base::Status Destination::write(std::string_view bytes) {
  GW_TRY_STATUS(proc::write_all(fd_.get(), bytes, base::printable(path_)));
  written_ += bytes.size();
  return {};
}

base::Status Destination::commit(const wire::BcastHeader& header) {
  const unsigned mask = header.preserve() ? 0 : ::umask(0);
  if (!header.preserve()) ::umask(mask);
  const unsigned mode = header.mode() & (header.preserve() ? kAllBits : kPermissions & ~mask);
  if (::fchmod(fd_.get(), mode) != 0) return trouble(path_, errno);
  const timespec times[2] = {time_of(header.accessed_ns()), time_of(header.modified_ns())};
  if (header.preserve() && ::futimens(fd_.get(), times) != 0) return trouble(path_, errno);
  if (::fsync(fd_.get()) != 0) return trouble(path_, errno);
  if (!header.force() && temporary_.empty()) {
    if (::linkat(AT_FDCWD, proc_name(fd_.get()).c_str(), AT_FDCWD, path_.c_str(), AT_SYMLINK_FOLLOW) != 0)
      return trouble(path_, errno);
  } else {
    GW_TRY_STATUS(give_temporary_name());
    GW_TRY_STATUS(rename_into_place(header.force()));
  }
  const proc::OwnedFd folder(::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder) ::fsync(folder.get());  // some file systems cannot, and the file itself is safe
  return {};
}

base::Status Destination::give_temporary_name() {
  if (!temporary_.empty()) return {};
  const std::string name = fresh_name();
  if (::linkat(AT_FDCWD, proc_name(fd_.get()).c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) != 0)
    return trouble(path_, errno);
  temporary_ = name;
  return {};
}

base::Status Destination::rename_into_place(bool force) {
  int error = ::renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, path_.c_str(), force ? 0U : RENAME_NOREPLACE);
  if (error != 0 && errno == EINVAL && !force && ::access(path_.c_str(), F_OK) != 0)
    error = ::rename(temporary_.c_str(), path_.c_str());
  if (error != 0) return trouble(path_, errno);
  temporary_.clear();
  return {};
}

}  // namespace gw::noded::step
