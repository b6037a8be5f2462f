// Backup through VACUUM INTO, which reads one snapshot. See backup.h.
#include "store/backup.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "base/text.h"
#include "store/sqlite_db.h"
#include "store/state_dir.h"

namespace gw::store {
namespace {

using base::ErrorCode;

// Unlinks a temporary file when the copy fails.
struct Temporary {
  std::string path;
  ~Temporary() { unlink(path.c_str()); }
};

base::Status create_private(const std::string& path) {
  int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0)
    return base::fail_errno("cannot create " + path, errno,
                            "the folder must exist and be writable for the controller's user");
  close(fd);
  return {};
}

base::Status copy_into(const std::string& source, const std::string& path, const std::function<bool()>& keep_going) {
  GW_TRY(db, Database::open(source, Database::Mode::kReadWrite));
  db.ask_while_running(keep_going);
  GW_TRY(vacuum, db.prepare("VACUUM INTO ?1"));
  vacuum.bind(std::string_view(path));
  int code = vacuum.run();
  if (code == SQLITE_DONE) return {};
  if ((code & 0xff) == SQLITE_INTERRUPT)
    return base::fail(ErrorCode::kUnavailable, "the backup " + path + " was given up: the controller stops",
                      "make it again when the controller runs");
  base::Error error = db.error(code);
  bool is_full = (code & 0xff) == SQLITE_FULL;
  std::string why = is_full ? "the disk is full" : error.what;
  return base::fail(error.code, fmt::format("cannot write the backup {}: {}", path, why),
                    is_full ? "free space there or choose another folder" : error.hint);
}

base::Result<uint64_t> sync_file(const std::string& path) {
  int fd = open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return base::fail_errno("cannot open " + path, errno);
  struct stat st {};
  int failed = fsync(fd) == 0 && fstat(fd, &st) == 0 ? 0 : errno;
  close(fd);
  if (failed != 0) return base::fail_errno("cannot sync " + path, failed);
  return static_cast<uint64_t>(st.st_size);
}

base::Status refuse_existing(const std::string& target) {
  struct stat st {};
  if (lstat(target.c_str(), &st) != 0) return {};
  return base::fail(ErrorCode::kConflict, target + " exists", "give a new file name");
}

}  // namespace

base::Result<uint64_t> backup_database(const std::string& source, const std::string& target,
                                       const std::function<bool()>& keep_going) {
  if (target.empty() || target[0] != '/')
    return base::invalid(fmt::format("the backup file \"{}\" is not an absolute path", base::printable(target)),
                         "write it from / on");
  GW_TRY_STATUS(refuse_existing(target));
  Temporary temporary{fmt::format("{}.tmp-{}", target, getpid())};
  unlink(temporary.path.c_str());  // Left by an earlier process of this number.
  GW_TRY_STATUS(create_private(temporary.path));
  GW_TRY_STATUS(copy_into(source, temporary.path, keep_going));
  GW_TRY(size, sync_file(temporary.path));
  // link() does not replace a file that came into being meanwhile, as rename() would.
  if (link(temporary.path.c_str(), target.c_str()) != 0) {
    if (errno == EEXIST) return base::fail(ErrorCode::kConflict, target + " exists", "give a new file name");
    return base::fail_errno("cannot name the backup " + target, errno);
  }
  GW_TRY_STATUS(sync_dir(std::filesystem::path(target).parent_path().string()));
  return size;
}

}  // namespace gw::store
