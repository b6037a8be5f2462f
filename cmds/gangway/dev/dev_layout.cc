// Paths of a private cluster. See dev_layout.h for the invariants.
#include "cmds/gangway/dev/dev_layout.h"

#include <fmt/format.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <optional>

#include "base/hostlist.h"
#include "client/conn/private_cluster.h"
#include "cmds/gangway/dev/dev_programs.h"

namespace gw::cmds {
namespace {

namespace fs = std::filesystem;
using base::Result;
using base::Status;

constexpr uint32_t kHostsPerBlock = 250;
// Memory before disk: nodes make and remove small files with every job, and what they hold means nothing after a
// reboot.
constexpr const char* kRuntimePlaces[] = {"/dev/shm/gw-", "/tmp/gw-"};

// The owner of a runtime folder. None if it is no folder, or not in its place, or if others than its owner can write
// to it.
std::optional<uid_t> owner_of_runtime(const std::string& path) {
  struct stat st = {};
  const bool is_placed = std::any_of(std::begin(kRuntimePlaces), std::end(kRuntimePlaces),
                                     [&](const char* place) { return path.starts_with(place); });
  if (!is_placed || lstat(path.c_str(), &st) != 0) return std::nullopt;
  if (!S_ISDIR(st.st_mode) || (st.st_mode & (S_IWGRP | S_IWOTH)) != 0) return std::nullopt;
  return st.st_uid;
}

Status make_runtime(DevLayout& layout) {
  std::string path;
  for (const char* place : kRuntimePlaces) {
    path = fmt::format("{}{}-XXXXXX", place, geteuid());
    if (mkdtemp(path.data()) != nullptr) break;
    path.clear();
  }
  if (path.empty()) return base::fail_errno("cannot make a runtime folder below /dev/shm or /tmp", errno);
  if (chmod(path.c_str(), 0711) != 0) return base::fail_errno("cannot set the mode of " + path, errno);
  const std::string link = layout.run_link();
  struct stat st = {};
  if (lstat(link.c_str(), &st) == 0 && !S_ISLNK(st.st_mode)) {
    return base::invalid(link + " is in the way", "give another folder with --dir");
  }
  unlink(link.c_str());
  if (symlink(path.c_str(), link.c_str()) != 0) return base::fail_errno("cannot make the link " + link, errno);
  layout.runtime = path;
  return {};
}

}  // namespace

Result<DevLayout> dev_layout(const std::string& dir) { return dev_layout(dir, geteuid()); }

Result<DevLayout> dev_layout(const std::string& dir, uint32_t self) {
  DevLayout layout;
  if (dir.empty()) {
    GW_TRY(chosen, client::default_dev_dir());
    layout.dir = chosen;
  } else {
    std::error_code failed;
    layout.dir = fs::absolute(dir, failed).lexically_normal().string();
    if (failed) return base::invalid("--dir " + dir + ": " + failed.message());
    while (layout.dir.size() > 1 && layout.dir.ends_with('/')) layout.dir.pop_back();
  }
  std::error_code failed;
  const std::string target = fs::read_symlink(layout.run_link(), failed).string();
  if (failed == std::errc::permission_denied)
    return base::fail(base::ErrorCode::kDenied, "cannot look into " + layout.dir + ": " + failed.message(),
                      "a cluster there belongs to another user; name a folder of your own with --dir");
  const auto owner = owner_of_runtime(target);
  if (owner == self) {
    layout.runtime = target;
  } else if (owner) {
    layout.foreign = target;
    layout.owner = *owner;
  }
  return layout;
}

base::Error foreign_cluster(const DevLayout& layout, std::string hint) {
  const passwd* entry = getpwuid(layout.owner);
  const std::string user =
      entry != nullptr ? fmt::format("{} (uid {})", entry->pw_name, layout.owner) : fmt::format("uid {}", layout.owner);
  return {base::ErrorCode::kDenied, fmt::format("the cluster in {} belongs to {}", layout.dir, user), std::move(hint)};
}

Status make_dev_folders(DevLayout& layout) {
  for (const std::string& path : {layout.dir, layout.log_dir(), layout.state_dir()}) {
    std::error_code failed;
    fs::create_directories(path, failed);
    if (failed)
      return base::fail(base::ErrorCode::kInternal, "cannot make " + path + ": " + failed.message(),
                        "give another folder with --dir");
  }
  return layout.runtime.empty() ? make_runtime(layout) : Status{};
}

void remove_dev_runtime(DevLayout& layout) {
  if (layout.runtime.empty()) return;
  remove_programs(layout);
  std::error_code ignored;
  fs::remove_all(layout.runtime, ignored);
  fs::remove(layout.run_link(), ignored);
  layout.runtime.clear();
}

std::vector<std::string> dev_daemons(const DevLayout& layout) {
  std::vector<std::string> nodes;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(layout.runtime, failed)) {
    const fs::path name = entry.path().filename();
    if (name.extension() == ".cmd" && name.string().starts_with("gnoded.")) nodes.push_back(name.stem().string());
  }
  base::sort_hostlist(nodes);
  std::vector<std::string> all;
  for (const char* first : {"munged", "gscriptd", "gctld", "gwebd"})
    if (access(layout.command_of(first).c_str(), F_OK) == 0) all.emplace_back(first);
  all.insert(all.end(), nodes.begin(), nodes.end());
  return all;
}

std::string dev_node_name(uint32_t index) { return fmt::format("n{}", index); }

std::string dev_node_address(uint32_t index) {
  return fmt::format("127.0.{}.{}", 1 + index / kHostsPerBlock, 2 + index % kHostsPerBlock);
}

}  // namespace gw::cmds
