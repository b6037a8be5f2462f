// The plug-in kind `contain`: how the processes of a step are held together, limited, and ended.
// Invariants: values only cross the border; the same build on both sides (see plugin_loader.h); one object serves one
// step. A plug-in never blocks for long: killing is a pass that the owner repeats until members() is empty.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace gw::noded::step {

/// What a step may use. Empty or zero means: not limited.
struct ContainSpec {
  std::string group;  ///< Path below each controller: "gangway/CLUSTER/NODE/job_7.1".
  std::string
      parent;  ///< Group in which `group` lies and whose limits hold for it; it has then none of its own. May be empty.
  std::string cpus;  ///< "0-3"; empty on emulated nodes, whose cores are only recorded.
  std::string mems;  ///< NUMA nodes by OS index.
  uint64_t mem_limit_mb = 0;
  uint32_t max_pids = 0;
  std::vector<std::string> allow_devices;  ///< Device files that may be opened, of all_devices.
  std::vector<std::string> all_devices;
};

/// One thing that a plug-in can or cannot do on this machine: memory, pids, cpuset, devices, freeze, kill.
struct ControllerReport {
  std::string controller;
  bool usable = false;
  std::string why_not;
};

/// What `gangway doctor` prints of a plug-in.
struct ProbeReport {
  std::string kind;
  bool usable = false;  ///< It can hold and end processes here.
  std::string why_not;
  std::vector<ControllerReport> controllers;

  uint32_t usable_controllers() const {
    uint32_t n = 0;
    for (const ControllerReport& c : controllers) n += c.usable ? 1 : 0;
    return n;
  }
};

struct MemoryUse {
  uint64_t peak_mb = 0;  ///< Zero if this plug-in does not measure it.
  bool oom = false;      ///< The kernel killed a process of the group for memory.
};

/// The containment of one step. Used by the shepherd; attach() lets another process clean up after a dead shepherd.
class Containment {
 public:
  Containment() = default;
  Containment(const Containment&) = delete;
  Containment& operator=(const Containment&) = delete;
  virtual ~Containment() = default;

  /// Tries what it needs by making and removing a group.
  virtual ProbeReport probe() = 0;
  /// Makes the groups and sets the limits; only in controllers that have something to enforce: in the others a step
  /// with a parent is held by the parent's group. Errors: a group of this name still holds processes; a limit that the
  /// kernel refuses. What was made is removed after an error.
  virtual base::Status prepare(const ContainSpec& spec) = 0;
  /// Takes over groups that an earlier process made; missing ones are no error.
  virtual void attach(const ContainSpec& spec) = 0;
  /// Folder to give to CLONE_INTO_CGROUP, or -1.
  virtual int clone_into_fd() const = 0;
  /// Moves the calling process, which has one thread, into the groups. `cloned`: CLONE_INTO_CGROUP was used.
  virtual base::Status join(bool cloned) = 0;
  /// Moves a process that runs already.
  virtual base::Status adopt(pid_t pid) = 0;
  virtual base::Status freeze() = 0;
  virtual base::Status thaw() = 0;
  /// Living processes now.
  virtual std::vector<pid_t> members() = 0;
  /// Those of steps, whose groups lie within a job's, are left to their own shepherds. What has gone meanwhile is no
  /// error.
  virtual void signal_all(int signo) = 0;
  /// Sends SIGKILL to everything, thawed if it was frozen, in a way that forking does not outrun.
  virtual void kill_pass() = 0;
  virtual MemoryUse memory_use() = 0;
  /// Removes the groups, which must be empty. Errors: busy.
  virtual base::Status remove() = 0;
  /// Removes the empty groups above a group of this name; those in use stay.
  virtual void remove_parents(const std::string& group) = 0;
};

/// Grows when this header changes its meaning.
constexpr uint32_t kContainInterface = 3;

/// What the one exported function of a plug-in returns; lives as long as the process.
struct ContainPlugin {
  uint32_t interface_version;
  const char* build_hash;
  const char* name;
  Containment* (*create)();
};
/// Name of that function.
constexpr const char* kContainFactory = "gangway_contain_plugin";
using ContainFactory = const ContainPlugin* (*)();

}  // namespace gw::noded::step

/// Defines the exported function of a plug-in for a class derived from Containment.
#define GW_CONTAIN_PLUGIN(plugin_name, Class)                                                                          \
  extern "C" __attribute__((visibility("default"))) const ::gw::noded::step::ContainPlugin* gangway_contain_plugin() { \
    static const ::gw::noded::step::ContainPlugin plugin{                                                              \
        ::gw::noded::step::kContainInterface, GW_CONTAIN_BUILD_HASH, plugin_name,                                      \
        []() -> ::gw::noded::step::Containment* { return new Class(); }};                                              \
    return &plugin;                                                                                                    \
  }
