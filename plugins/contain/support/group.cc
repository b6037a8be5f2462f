// One group of one cgroup hierarchy.
#include "plugins/contain/support/group.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <memory>

#include "base/text.h"
#include "noded/step/proc/files.h"

namespace gw::contain {
namespace {

namespace proc = noded::step::proc;

constexpr mode_t kGroupMode = 0755;

std::vector<std::string> subfolders(const std::string& dir) {
  std::vector<std::string> found;
  // Two links more than subfolders: spares reading the folder of a group that has none, which is nearly every one.
  struct stat status {};
  if (::stat(dir.c_str(), &status) != 0 || status.st_nlink <= 2) return found;
  const std::unique_ptr<DIR, int (*)(DIR*)> open(::opendir(dir.c_str()), ::closedir);
  if (!open) return found;
  while (const dirent* entry = ::readdir(open.get()))
    if (entry->d_type == DT_DIR && entry->d_name[0] != '.') found.push_back(dir + "/" + entry->d_name);
  return found;
}

void read_pids(const std::string& dir, std::vector<pid_t>& pids) {
  const auto text = proc::read_file(dir + "/cgroup.procs", 16 << 20);
  if (text)
    for (const std::string& line : base::split(*text, '\n')) {
      pid_t pid = 0;
      std::from_chars(line.data(), line.data() + line.size(), pid);
      if (pid > 0) pids.push_back(pid);
    }
}

void collect_pids(const std::string& dir, std::vector<pid_t>& pids) {
  read_pids(dir, pids);
  for (const std::string& sub : subfolders(dir)) collect_pids(sub, pids);
}

base::Status remove_tree(const std::string& dir) {
  if (::rmdir(dir.c_str()) == 0 || errno == ENOENT) return {};
  if (errno != EBUSY && errno != ENOTEMPTY) return base::fail_errno("removing " + dir, errno);
  for (const std::string& sub : subfolders(dir)) GW_TRY_STATUS(remove_tree(sub));
  if (::rmdir(dir.c_str()) == 0 || errno == ENOENT) return {};
  return base::fail_errno("removing " + dir, errno);
}

}  // namespace

base::Result<Group> Group::at(const std::string& base, const std::string& name) {
  if (name.empty() || name.front() == '/' || name.size() > 1024)
    return base::invalid("group name \"" + base::printable(name) + "\" is not a relative path");
  for (const std::string& part : base::split(name, '/'))
    if (part.empty() || part == "." || part == "..")
      return base::invalid("group name \"" + base::printable(name) + "\" has an empty part or dots");
  Group group;
  group.base_ = base;
  group.dir_ = base + "/" + name;
  return group;
}

base::Status Group::create_parents(const OnFolder& on_parent) const {
  size_t end = base_.size();
  GW_TRY_STATUS(on_parent(base_));
  while ((end = dir_.find('/', end + 1)) != std::string::npos) {
    const std::string folder = dir_.substr(0, end);
    if (::mkdir(folder.c_str(), kGroupMode) != 0 && errno != EEXIST) return base::fail_errno(folder, errno);
    GW_TRY_STATUS(on_parent(folder));
  }
  return {};
}

base::Status Group::create(const OnFolder& on_parent) {
  // Another step's end may remove the parents between our making them and using them: hence more than one try.
  for (int attempt = 0; attempt < 8; ++attempt) {
    const base::Status parents = attempt == 0 ? on_parent(dir_.substr(0, dir_.rfind('/'))) : create_parents(on_parent);
    if (!parents && parents.error().code == base::ErrorCode::kNotFound) continue;
    if (!parents) return parents;
    if (::mkdir(dir_.c_str(), kGroupMode) == 0) return {};
    if (errno == EEXIST) {
      if (!processes().empty())
        return base::fail(base::ErrorCode::kConflict, "group " + dir_ + " still holds processes of an earlier run");
      GW_TRY_STATUS(remove_tree(dir_));
    } else if (errno != ENOENT) {
      return base::fail_errno(dir_, errno);
    }
  }
  return base::fail(base::ErrorCode::kUnavailable, "group " + dir_ + " cannot be made: its parents keep vanishing");
}

base::Status Group::write(const char* file, std::string_view value) const {
  return proc::write_control(dir_ + "/" + file, value);
}

base::Result<std::string> Group::read(const char* file) const { return proc::read_file(dir_ + "/" + file); }

bool Group::has(const char* file) const { return ::access((dir_ + "/" + file).c_str(), F_OK) == 0; }

std::vector<pid_t> Group::processes() const {
  std::vector<pid_t> pids;
  collect_pids(dir_, pids);
  return pids;
}

std::vector<pid_t> Group::own_processes() const {
  std::vector<pid_t> pids;
  read_pids(dir_, pids);
  return pids;
}

base::Status Group::remove() {
  if (dir_.empty()) return {};
  return remove_tree(dir_);
}

void Group::remove_parents() const {
  std::string folder = dir_;
  for (;;) {
    folder.resize(folder.rfind('/'));
    if (folder.size() <= base_.size() || ::rmdir(folder.c_str()) != 0) return;
  }
}

uint64_t keyed_value(std::string_view text, std::string_view key) {
  for (const std::string& line : base::split(text, '\n')) {
    if (!line.starts_with(key) || line.size() <= key.size() + 1 || line[key.size()] != ' ') continue;
    uint64_t value = 0;
    std::from_chars(line.data() + key.size() + 1, line.data() + line.size(), value);
    return value;
  }
  return 0;
}

uint64_t number_of(const Group& group, const char* file) {
  const auto text = group.read(file);
  uint64_t value = 0;
  if (text) std::from_chars(text->data(), text->data() + text->size(), value);
  return value;
}

}  // namespace gw::contain
