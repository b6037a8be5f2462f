// Clears the control groups of a private cluster.
#include "cmds/gangway/dev/dev_groups.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/text.h"

namespace gw::cmds {
namespace {

namespace fs = std::filesystem;

constexpr int kPasses = 200;
constexpr auto kPause = std::chrono::milliseconds(10);

// Mount points of cgroup and cgroup2 file systems.
std::vector<std::string> hierarchies() {
  std::vector<std::string> points;
  std::ifstream in("/proc/self/mountinfo");
  for (std::string line; std::getline(in, line);) {
    const size_t dash = line.find(" - cgroup");
    const auto fields = base::split(line.substr(0, dash), ' ');
    if (dash != std::string::npos && fields.size() > 4) points.push_back(fields[4]);
  }
  return points;
}

// Where an ordinary user may have groups: below the version 2 group that this process is in, or a parent of it.
std::vector<std::string> own_groups() {
  std::vector<std::string> groups = {""};
  std::ifstream in("/proc/self/cgroup");
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("0::/")) continue;
    for (std::string group = line.substr(3); group.size() > 1; group.resize(group.rfind('/'))) groups.push_back(group);
  }
  return groups;
}

std::vector<std::string> groups_of(const std::string& cluster) {
  std::vector<std::string> found;
  std::error_code failed;
  for (const std::string& point : hierarchies()) {
    for (const std::string& group : own_groups()) {
      const std::string path = point + group + "/gangway/" + cluster;
      if (fs::is_directory(path, failed)) found.push_back(path);
    }
  }
  return found;
}

// One group with all below it, deepest first.
std::vector<std::string> tree_of(const std::string& root) {
  std::vector<std::string> all = {root};
  std::error_code failed;
  for (fs::recursive_directory_iterator it(root, failed), end; !failed && it != end; it.increment(failed)) {
    if (it->is_directory(failed)) all.push_back(it->path().string());
  }
  std::reverse(all.begin(), all.end());
  return all;
}

void kill_members(const std::string& group) {
  std::ofstream(group + "/freezer.state") << "THAWED";  // A frozen process of version 1 dies only once thawed.
  std::ifstream in(group + "/cgroup.procs");
  for (pid_t pid = 0; in >> pid;) {
    if (pid > 1) kill(pid, SIGKILL);
  }
}

bool clear_tree(const std::string& root) {
  std::error_code failed;
  for (int pass = 0; pass < kPasses; ++pass) {
    for (const std::string& group : tree_of(root)) {
      if (rmdir(group.c_str()) != 0) kill_members(group);
    }
    if (!fs::exists(root, failed)) return true;
    std::this_thread::sleep_for(kPause);
  }
  return false;
}

}  // namespace

std::vector<std::string> clear_groups(const std::string& cluster) {
  std::vector<std::string> left;
  for (const std::string& root : groups_of(cluster)) {
    if (!clear_tree(root)) left.push_back("the control group " + root + " still holds processes");
    rmdir(root.substr(0, root.rfind('/')).c_str());
  }
  return left;
}

}  // namespace gw::cmds
