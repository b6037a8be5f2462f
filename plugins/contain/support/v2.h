// One cgroup v2 group for a step: freeze, kill, devices by a BPF program, and the controllers where v2 has them.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "noded/step/containment.h"
#include "noded/step/proc/owned_fd.h"
#include "plugins/contain/support/group.h"
#include "plugins/contain/support/mounts.h"

namespace gw::contain {

class V2Group {
 public:
  /// `controllers`: those of memory, pids, cpuset that may be used here; none where v1 has them.
  V2Group(const Mounts& mounts, std::set<std::string> controllers);

  /// kill, freeze, devices and the wanted controllers, by making and removing a group.
  std::vector<noded::step::ControllerReport> probe();
  base::Status prepare(const noded::step::ContainSpec& spec);
  void attach(const noded::step::ContainSpec& spec);
  int clone_into_fd() const { return fd_.get(); }
  /// Moves a process; 0 is the caller.
  base::Status adopt(pid_t pid);
  base::Status set_frozen(bool frozen);
  std::vector<pid_t> processes() const { return group_ ? group_.processes() : std::vector<pid_t>{}; }
  /// Without those of groups below, which are steps.
  std::vector<pid_t> own_processes() const { return group_ ? group_.own_processes() : std::vector<pid_t>{}; }
  void kill_pass();
  noded::step::MemoryUse memory_use() const;
  base::Status remove();
  void remove_parents(const std::string& group);

 private:
  std::string base_;
  std::set<std::string> controllers_;
  Group group_;
  Group parent_;              // whose limits hold for it; usually none
  uint64_t ooms_before_ = 0;  // in the parent
  noded::step::proc::OwnedFd fd_;

  std::set<std::string> needed(const noded::step::ContainSpec& spec) const;
  base::Status set_limits(const noded::step::ContainSpec& spec);
  base::Status deny_devices(const noded::step::ContainSpec& spec);
  base::Status probe_controller(const std::string& controller);
};

}  // namespace gw::contain
