// One cgroup v2 group for a step.
#include "plugins/contain/support/v2.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>

#include "base/text.h"
#include "noded/step/proc/files.h"
#include "noded/step/proc/tree.h"
#include "plugins/contain/support/devices.h"

namespace gw::contain {
namespace {

namespace proc = noded::step::proc;
using noded::step::ContainSpec;
using noded::step::ControllerReport;

// Controllers reach a group only if every folder above it hands them down.
Group::OnFolder hand_down(std::set<std::string> controllers) {
  return [controllers = std::move(controllers)](const std::string& folder) -> base::Status {
    if (controllers.empty()) return {};
    GW_TRY(handed, proc::read_file(folder + "/cgroup.subtree_control"));
    const auto words = base::split(base::trim(handed), ' ');
    for (const std::string& controller : controllers) {
      if (std::find(words.begin(), words.end(), controller) != words.end()) continue;
      GW_TRY_STATUS(proc::write_control(folder + "/cgroup.subtree_control", "+" + controller));
    }
    return {};
  };
}

ControllerReport report_of(const std::string& name, const base::Status& works) {
  return {name, works.has_value(), works ? "" : works.error().text()};
}

base::Status need_file(const Group& group, const char* file) {
  if (group.has(file)) return {};
  return base::fail(base::ErrorCode::kUnavailable, std::string("this kernel has no ") + file);
}

base::Status probe_devices(const Group& group) {
  const proc::OwnedFd fd(::open(group.dir().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return base::fail_errno(group.dir(), errno);
  return deny_by_program(fd.get(), {});
}

uint64_t v2_oom_kills(const Group& group) {
  const auto events = group.read("memory.events");
  return events ? keyed_value(*events, "oom_kill") : 0;
}

}  // namespace

V2Group::V2Group(const Mounts& mounts, std::set<std::string> controllers)
    : base_(v2_base(mounts)), controllers_(std::move(controllers)) {}

base::Status V2Group::probe_controller(const std::string& controller) {
  GW_TRY(group, Group::at(base_, "gangway/probe." + std::to_string(::getpid())));
  const auto offered = proc::read_file(base_ + "/cgroup.controllers");
  const auto words = offered ? base::split(base::trim(*offered), ' ') : std::vector<std::string>{};
  if (std::find(words.begin(), words.end(), controller) == words.end())
    return base::fail(base::ErrorCode::kUnavailable, base_ + " has no " + controller + " controller");
  const base::Status made = group.create(hand_down({controller}));
  const base::Status removed = group.remove();
  group.remove_parents();
  return made ? removed : made;
}

std::vector<ControllerReport> V2Group::probe() {
  std::vector<ControllerReport> reports;
  base::Status made;
  auto group = base_.empty() ? base::Result<Group>(base::fail(base::ErrorCode::kUnavailable,
                                                              "no cgroup v2 folder that this user may write"))
                             : Group::at(base_, "gangway/probe." + std::to_string(::getpid()));
  made = group ? group->create(hand_down({})) : base::Status(tl::unexpected<base::Error>(group.error()));
  reports.push_back(report_of("kill", made ? need_file(*group, "cgroup.kill") : made));
  reports.push_back(report_of("freeze", made ? need_file(*group, "cgroup.freeze") : made));
  reports.push_back(report_of("devices", made ? probe_devices(*group) : made));
  if (group) {
    static_cast<void>(group->remove());
    group->remove_parents();
  }
  for (const std::string& controller : controllers_)
    reports.push_back(report_of(controller, made ? probe_controller(controller) : made));
  return reports;
}

std::set<std::string> V2Group::needed(const ContainSpec& spec) const {
  std::set<std::string> all;
  if (spec.mem_limit_mb > 0 && controllers_.contains("memory")) all.insert("memory");
  if (spec.max_pids > 0 && controllers_.contains("pids")) all.insert("pids");
  if ((!spec.cpus.empty() || !spec.mems.empty()) && controllers_.contains("cpuset")) all.insert("cpuset");
  return all;
}

base::Status V2Group::set_limits(const ContainSpec& spec) {
  const std::set<std::string> use = needed(spec);
  if (use.contains("memory")) {
    GW_TRY_STATUS(group_.write("memory.max", std::to_string(spec.mem_limit_mb << 20)));
    if (group_.has("memory.swap.max")) GW_TRY_STATUS(group_.write("memory.swap.max", "0"));
    // A job that lost one process to the limit is lost: better all of it at once than a gang that hangs.
    if (group_.has("memory.oom.group")) GW_TRY_STATUS(group_.write("memory.oom.group", "1"));
  }
  if (use.contains("pids")) GW_TRY_STATUS(group_.write("pids.max", std::to_string(spec.max_pids)));
  if (use.contains("cpuset")) {
    if (!spec.cpus.empty()) GW_TRY_STATUS(group_.write("cpuset.cpus", spec.cpus));
    if (!spec.mems.empty()) GW_TRY_STATUS(group_.write("cpuset.mems", spec.mems));
  }
  return {};
}

base::Status V2Group::deny_devices(const ContainSpec& spec) {
  if (spec.all_devices.empty()) return {};
  GW_TRY(denied, denied_devices(spec));
  if (denied.empty()) return {};
  return deny_by_program(fd_.get(), denied);
}

base::Status V2Group::prepare(const ContainSpec& spec) {
  if (base_.empty()) return base::fail(base::ErrorCode::kUnavailable, "no cgroup v2 folder that this user may write");
  GW_TRY(group, Group::at(base_, spec.group));
  GW_TRY_STATUS(group.create(hand_down(needed(spec))));
  group_ = group;
  fd_.reset(::open(group_.dir().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd_) return base::fail_errno(group_.dir(), errno);
  // A group that lies in another one is under its limits by itself, and needs no controllers handed down: the parent
  // holds processes, and then could not hand any down.
  if (!spec.parent.empty()) {
    GW_TRY(parent, Group::at(base_, spec.parent));
    parent_ = parent;
    ooms_before_ = v2_oom_kills(parent_);
  }
  GW_TRY_STATUS(set_limits(spec));
  return deny_devices(spec);
}

void V2Group::attach(const ContainSpec& spec) {
  if (base_.empty()) return;
  if (auto group = Group::at(base_, spec.group); group && ::access(group->dir().c_str(), F_OK) == 0) group_ = *group;
}

base::Status V2Group::adopt(pid_t pid) {
  if (!group_) return base::fail(base::ErrorCode::kUnavailable, "no group");
  return group_.write("cgroup.procs", std::to_string(pid));
}

base::Status V2Group::set_frozen(bool frozen) {
  if (!group_) return base::fail(base::ErrorCode::kUnavailable, "no group");
  return group_.write("cgroup.freeze", frozen ? "1" : "0");
}

void V2Group::kill_pass() {
  if (!group_ || group_.write("cgroup.kill", "1")) return;
  // Kernels before 5.14 have no cgroup.kill. A v2-frozen process dies of SIGKILL as it is.
  static_cast<void>(set_frozen(true));
  proc::signal_pids(processes(), SIGKILL);
  static_cast<void>(set_frozen(false));
}

noded::step::MemoryUse V2Group::memory_use() const {
  if (!group_ || !controllers_.contains("memory")) return {};
  if (parent_) return {0, v2_oom_kills(parent_) > ooms_before_};
  return {number_of(group_, "memory.peak") >> 20, v2_oom_kills(group_) > 0};
}

base::Status V2Group::remove() {
  fd_.reset();
  GW_TRY_STATUS(group_.remove());
  group_ = Group();
  return {};
}

void V2Group::remove_parents(const std::string& group) {
  if (base_.empty()) return;
  if (const auto g = Group::at(base_, group)) g->remove_parents();
}

}  // namespace gw::contain
