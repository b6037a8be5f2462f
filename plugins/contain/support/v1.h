// The cgroup v1 controllers that a step needs: cpuset, memory, pids, devices, freezer; each its own hierarchy.
// Invariant: a group is made only where there is something to enforce, and in the freezer if asked for, to hold the
// processes together. Where a step has none but its parent has one, its processes are in the parent's.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "noded/step/containment.h"
#include "plugins/contain/support/group.h"
#include "plugins/contain/support/mounts.h"

namespace gw::contain {

class V1Controllers {
 public:
  /// `wanted`: the controllers that may be used, of those that are mounted.
  V1Controllers(const Mounts& mounts, std::set<std::string> wanted);

  /// One report per wanted controller, by making and removing a group.
  std::vector<noded::step::ControllerReport> probe();
  base::Status prepare(const noded::step::ContainSpec& spec);
  void attach(const noded::step::ContainSpec& spec);
  /// Moves the caller, which has one thread.
  base::Status join();
  base::Status adopt(pid_t pid);
  base::Status set_frozen(bool frozen);
  std::vector<pid_t> processes() const;
  /// Without those of groups below, which are steps.
  std::vector<pid_t> own_processes() const;
  /// Freezes, kills, thaws: nothing forks away, and a frozen process dies only once thawed.
  void kill_pass();
  noded::step::MemoryUse memory_use() const;
  base::Status remove();
  void remove_parents(const std::string& group);

 private:
  std::map<std::string, std::string> bases_;  // controller -> mount point
  std::set<std::string> wanted_;
  std::map<std::string, Group> groups_;  // made for this step
  std::map<std::string, Group> lent_;    // of the parent, where this step has none
  uint64_t ooms_before_ = 0;             // of the parent's memory group

  bool is_needed(const std::string& controller, const noded::step::ContainSpec& spec) const;
  base::Status set_limits(const std::string& controller, const Group& group, const noded::step::ContainSpec& spec);
  void borrow(const std::string& controller, const std::string& base_dir, const std::string& parent);
  base::Status probe_one(const std::string& controller);
};

}  // namespace gw::contain
