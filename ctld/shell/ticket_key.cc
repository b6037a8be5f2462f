// The key that tickets for steps are signed with.
#include "ctld/shell/ticket_key.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "io/fd.h"
#include "store/state_dir.h"

namespace gw::ctld {
namespace {

constexpr size_t kMostBytes = 4096;

base::Result<std::string> read_all(int fd, const std::string& path) {
  std::string text(kMostBytes, '\0');
  const ssize_t n = ::read(fd, text.data(), text.size());
  if (n < 0) return base::fail_errno(path, errno);
  text.resize(static_cast<size_t>(n));
  return text;
}

/// Under another name first: a controller that is killed meanwhile leaves no half of a key.
base::Result<auth::SigningKey> make_key(const std::string& dir, const std::string& path) {
  auth::SigningKey key;
  const std::string text = key.secret_text();
  const std::string fresh = path + ".new";
  ::unlink(fresh.c_str());
  const io::Fd fd(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!fd) return base::fail_errno(fresh, errno);
  if (::write(fd.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()) || ::fsync(fd.get()) != 0 ||
      ::rename(fresh.c_str(), path.c_str()) != 0)
    return base::fail_errno(fresh, errno);
  GW_TRY_STATUS(store::sync_dir(dir));
  return key;
}

}  // namespace

base::Result<auth::SigningKey> load_ticket_key(const std::string& state_dir) {
  const std::string path = state_dir + "/ticket.key";
  const io::Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd && errno == ENOENT) return make_key(state_dir, path);
  if (!fd) return base::fail_errno(path, errno);
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) return base::fail_errno(path, errno);
  if ((status.st_mode & 077) != 0)
    return base::fail(base::ErrorCode::kDenied, path + " may be read by others: who has it can join every step",
                      "remove it, so that a new one is made; steps that run then cannot be joined");
  GW_TRY(text, read_all(fd.get(), path));
  auto key = auth::SigningKey::parse(text);
  if (key) return key;
  return base::fail(base::ErrorCode::kInvalid, path + " holds no key: " + key.error().what,
                    "restore it from a backup, or remove it: a new one is made, and steps that run cannot be joined");
}

}  // namespace gw::ctld
