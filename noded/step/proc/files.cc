// Small files read and written whole.
#include "noded/step/proc/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "noded/step/proc/owned_fd.h"

namespace gw::noded::step::proc {

base::Result<std::string> read_file(const std::string& path, size_t max_bytes) {
  const OwnedFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return base::fail_errno(path, errno);
  std::string text;
  char chunk[4096];
  for (;;) {
    const ssize_t n = ::read(fd.get(), chunk, sizeof chunk);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return base::fail_errno(path, errno);
    if (n == 0) return text;
    if (text.size() + static_cast<size_t>(n) > max_bytes)
      return base::invalid(path + ": longer than " + std::to_string(max_bytes) + " bytes");
    text.append(chunk, static_cast<size_t>(n));
  }
}

base::Status write_control(const std::string& path, std::string_view text) {
  const OwnedFd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!fd) return base::fail_errno(path, errno);
  if (::write(fd.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    return base::fail_errno("writing \"" + std::string(text) + "\" to " + path, errno);
  return {};
}

base::Status write_all(int fd, std::string_view bytes, const std::string& context) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return base::fail_errno(context, errno);
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return {};
}

base::Status replace_file(const std::string& dir, const std::string& name, std::string_view bytes, bool sync) {
  const std::string path = dir + "/" + name;
  const std::string temporary = path + ".new";
  const OwnedFd fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!fd) return base::fail_errno(temporary, errno);
  GW_TRY_STATUS(write_all(fd.get(), bytes, temporary));
  if (sync && ::fdatasync(fd.get()) != 0) return base::fail_errno("syncing " + temporary, errno);
  if (::rename(temporary.c_str(), path.c_str()) != 0) return base::fail_errno(path, errno);
  return {};
}

base::Status make_dirs(const std::string& path, unsigned mode) {
  if (::mkdir(path.c_str(), mode) == 0 || errno == EEXIST) return {};
  const size_t slash = path.rfind('/');
  if (errno != ENOENT || slash == std::string::npos || slash == 0) return base::fail_errno(path, errno);
  GW_TRY_STATUS(make_dirs(path.substr(0, slash), mode));
  if (::mkdir(path.c_str(), mode) == 0 || errno == EEXIST) return {};
  return base::fail_errno(path, errno);
}

}  // namespace gw::noded::step::proc
