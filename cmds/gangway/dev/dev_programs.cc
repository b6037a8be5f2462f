// Copying commands for other users.
#include "cmds/gangway/dev/dev_programs.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "cmds/gangway/shared/process.h"

namespace gw::cmds {
namespace {

namespace fs = std::filesystem;
using base::Status;

// On disk, if there is one: programs are larger than what a runtime folder in memory is meant for.
constexpr const char* kPrefix = "/tmp/gwp-";
constexpr const char* kLibexec = "libexec/gangway";

Status failed(const fs::path& path, const std::error_code& error) {
  return base::fail_errno("cannot copy " + path.string() + " for the users of the cluster", error.value(),
                          "make room in /tmp, or move the programs to a folder that everybody may pass");
}

/// Links lead to programs by relative paths, which hold in the copy.
Status copy_folder(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::create_directories(to, error);
  if (!error) fs::copy(from, to, fs::copy_options::recursive | fs::copy_options::copy_symlinks, error);
  return error ? failed(from, error) : Status{};
}

bool leads_to_a_command(const fs::path& link) {
  std::error_code error;
  return fs::read_symlink(link, error).string().find(kLibexec) != std::string::npos;
}

Status copy_bin(const fs::path& bin, const fs::path& to) {
  std::error_code error;
  fs::create_directories(to, error);
  if (error) return failed(to, error);
  for (const auto& entry : fs::directory_iterator(bin, error)) {
    const fs::path& path = entry.path();
    if (path.filename() != "gangway" && !leads_to_a_command(path)) continue;
    fs::copy(path, to / path.filename(), fs::copy_options::copy_symlinks, error);
    if (error) return failed(path, error);
  }
  return error ? failed(bin, error) : Status{};
}

/// Whatever the umask was.
Status open_up(const fs::path& folder) {
  std::error_code error;
  for (const auto& entry : fs::recursive_directory_iterator(folder, error)) {
    if (!entry.is_symlink(error)) fs::permissions(entry.path(), fs::perms(0755), error);
    if (error) return failed(entry.path(), error);
  }
  return error ? failed(folder, error) : Status{};
}

}  // namespace

bool is_open_to_all(const std::string& path) {
  std::error_code error;
  fs::path at = fs::canonical(path, error);
  if (error) return false;
  for (bool is_first = true;; is_first = false, at = at.parent_path()) {
    struct stat st = {};
    if (stat(at.c_str(), &st) != 0) return false;
    const mode_t needed = is_first ? S_IROTH | S_IXOTH : S_IXOTH;
    if ((st.st_mode & needed) != needed) return false;
    if (at == at.parent_path()) return true;
  }
}

Status copy_programs(const DevLayout& layout, const std::string& bin) {
  std::string folder = std::string(kPrefix) + std::to_string(geteuid()) + "-XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) return base::fail_errno("cannot make a folder for programs in /tmp", errno);
  if (chmod(folder.c_str(), 0755) != 0 || symlink(folder.c_str(), layout.programs_link().c_str()) != 0)
    return base::fail_errno("cannot make the link " + layout.programs_link(), errno);
  const fs::path from(bin), to(folder);
  GW_TRY_STATUS(copy_bin(from, to / "bin"));
  GW_TRY_STATUS(copy_folder(from.parent_path() / kLibexec, to / kLibexec));
  return open_up(to);
}

Status open_programs(const DevLayout& layout) {
  const bool has_other_users = geteuid() == 0;
  if (!has_other_users || is_open_to_all(own_folder())) return {};
  return copy_programs(layout, own_folder());
}

std::string commands_folder(const DevLayout& layout) {
  std::error_code error;
  const fs::path copy = fs::read_symlink(layout.programs_link(), error);
  return error ? own_folder() : (copy / "bin").string();
}

void remove_programs(const DevLayout& layout) {
  std::error_code error;
  const fs::path copy = fs::read_symlink(layout.programs_link(), error);
  struct stat st = {};
  const bool is_ours = !error && copy.string().starts_with(kPrefix) && lstat(copy.c_str(), &st) == 0 &&
                       S_ISDIR(st.st_mode) && st.st_uid == geteuid();
  if (is_ours) fs::remove_all(copy, error);
}

}  // namespace gw::cmds
