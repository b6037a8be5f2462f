// The cgroup v1 controllers that a step needs.
#include "plugins/contain/support/v1.h"

#include <signal.h>
#include <unistd.h>

#include "base/text.h"
#include "noded/step/proc/files.h"
#include "noded/step/proc/tree.h"
#include "plugins/contain/support/devices.h"

namespace gw::contain {
namespace {

namespace proc = noded::step::proc;
using noded::step::ContainSpec;

// A new v1 cpuset is empty and takes no process until it has cores and memory nodes: folders on the way get their
// parent's.
base::Status inherit(const std::string& folder, const char* file) {
  const std::string path = folder + "/" + file;
  GW_TRY(own, proc::read_file(path));
  if (!base::trim(own).empty()) return {};
  GW_TRY(above, proc::read_file(folder.substr(0, folder.rfind('/')) + "/" + file));
  return proc::write_control(path, base::trim(above));
}

base::Status inherit_cpuset(const std::string& folder) {
  GW_TRY_STATUS(inherit(folder, "cpuset.cpus"));
  return inherit(folder, "cpuset.mems");
}

Group::OnFolder parent_rule(const std::string& controller) {
  if (controller == "cpuset") return inherit_cpuset;
  return [](const std::string&) { return base::Status{}; };
}

base::Status limit_memory(const Group& group, uint64_t limit_mb) {
  const std::string bytes = std::to_string(limit_mb << 20);
  GW_TRY_STATUS(group.write("memory.limit_in_bytes", bytes));
  // Memory and swap together, or a job could pass its limit by swapping. The file is missing without swap accounting.
  if (group.has("memory.memsw.limit_in_bytes")) return group.write("memory.memsw.limit_in_bytes", bytes);
  return {};
}

base::Status limit_cpus(const Group& group, const ContainSpec& spec) {
  if (!spec.mems.empty()) GW_TRY_STATUS(group.write("cpuset.mems", spec.mems));
  if (!spec.cpus.empty()) GW_TRY_STATUS(group.write("cpuset.cpus", spec.cpus));
  return inherit_cpuset(group.dir());
}

base::Status limit_devices(const Group& group, const ContainSpec& spec) {
  GW_TRY(denied, denied_devices(spec));
  for (const Device& d : denied) {
    const std::string rule =
        std::string(d.is_block ? "b " : "c ") + std::to_string(d.major) + ":" + std::to_string(d.minor) + " rwm";
    GW_TRY_STATUS(group.write("devices.deny", rule));
  }
  return {};
}

uint64_t v1_oom_kills(const Group& group) {
  const auto control = group.read("memory.oom_control");
  return control ? keyed_value(*control, "oom_kill") : 0;
}

}  // namespace

V1Controllers::V1Controllers(const Mounts& mounts, std::set<std::string> wanted) : wanted_(std::move(wanted)) {
  for (const auto& [controller, point] : mounts.v1)
    if (wanted_.contains(controller)) bases_.emplace(controller, point);
}

base::Status V1Controllers::probe_one(const std::string& controller) {
  const auto it = bases_.find(controller);
  if (it == bases_.end()) return base::invalid("the v1 controller is not mounted");
  GW_TRY(group, Group::at(it->second, "gangway/probe." + std::to_string(::getpid())));
  GW_TRY_STATUS(group.create(parent_rule(controller)));
  ContainSpec spec;
  base::Status works;
  if (controller == "memory") works = limit_memory(group, 64);
  if (controller == "pids") works = group.write("pids.max", "64");
  if (controller == "cpuset") works = inherit_cpuset(group.dir());
  const base::Status removed = group.remove();
  group.remove_parents();
  return works ? removed : works;
}

std::vector<noded::step::ControllerReport> V1Controllers::probe() {
  std::vector<noded::step::ControllerReport> reports;
  for (const std::string& controller : wanted_) {
    const base::Status works = probe_one(controller);
    // Users of the report know one name for each ability, whatever the kernel calls it.
    const std::string ability = controller == "freezer" ? "freeze" : controller;
    reports.push_back({ability, works.has_value(), works ? "" : works.error().text()});
  }
  return reports;
}

bool V1Controllers::is_needed(const std::string& controller, const ContainSpec& spec) const {
  if (controller == "memory") return spec.mem_limit_mb > 0;
  if (controller == "pids") return spec.max_pids > 0;
  if (controller == "cpuset") return !spec.cpus.empty() || !spec.mems.empty();
  if (controller == "devices") return spec.allow_devices.size() < spec.all_devices.size();
  return controller == "freezer";
}

base::Status V1Controllers::set_limits(const std::string& controller, const Group& group, const ContainSpec& spec) {
  if (controller == "memory") return limit_memory(group, spec.mem_limit_mb);
  if (controller == "pids") return group.write("pids.max", std::to_string(spec.max_pids));
  if (controller == "cpuset") return limit_cpus(group, spec);
  if (controller == "devices") return limit_devices(group, spec);
  return {};
}

base::Status V1Controllers::prepare(const ContainSpec& spec) {
  for (const auto& [controller, base_dir] : bases_) {
    if (!is_needed(controller, spec)) {
      borrow(controller, base_dir, spec.parent);
      continue;
    }
    GW_TRY(group, Group::at(base_dir, spec.group));
    GW_TRY_STATUS(group.create(parent_rule(controller)));
    groups_[controller] = group;
    GW_TRY_STATUS(set_limits(controller, group, spec));
  }
  return {};
}

void V1Controllers::borrow(const std::string& controller, const std::string& base_dir, const std::string& parent) {
  if (parent.empty()) return;
  const auto group = Group::at(base_dir, parent);
  if (!group || ::access(group->dir().c_str(), F_OK) != 0) return;
  lent_[controller] = *group;
  if (controller == "memory") ooms_before_ = v1_oom_kills(*group);
}

void V1Controllers::attach(const ContainSpec& spec) {
  for (const auto& [controller, base_dir] : bases_)
    if (auto group = Group::at(base_dir, spec.group); group && ::access(group->dir().c_str(), F_OK) == 0)
      groups_[controller] = *group;
}

base::Status V1Controllers::join() {
  // "0" in `tasks` moves the calling thread and needs no lock on forks; in cgroup.procs it costs a grace period.
  for (const auto* groups : {&groups_, &lent_})
    for (const auto& [controller, group] : *groups) GW_TRY_STATUS(group.write("tasks", "0"));
  return {};
}

base::Status V1Controllers::adopt(pid_t pid) {
  for (const auto* groups : {&groups_, &lent_})
    for (const auto& [controller, group] : *groups) GW_TRY_STATUS(group.write("cgroup.procs", std::to_string(pid)));
  return {};
}

base::Status V1Controllers::set_frozen(bool frozen) {
  const auto it = groups_.find("freezer");
  if (it == groups_.end()) return base::fail(base::ErrorCode::kUnavailable, "no freezer group");
  return it->second.write("freezer.state", frozen ? "FROZEN" : "THAWED");
}

std::vector<pid_t> V1Controllers::processes() const {
  if (const auto it = groups_.find("freezer"); it != groups_.end()) return it->second.processes();
  std::set<pid_t> all;
  for (const auto& [controller, group] : groups_)
    for (const pid_t pid : group.processes()) all.insert(pid);
  return {all.begin(), all.end()};
}

std::vector<pid_t> V1Controllers::own_processes() const {
  const auto it = groups_.find("freezer");
  return it != groups_.end() ? it->second.own_processes() : processes();
}

void V1Controllers::kill_pass() {
  const bool frozen = set_frozen(true).has_value();
  proc::signal_pids(processes(), SIGKILL);
  if (frozen) static_cast<void>(set_frozen(false));
}

noded::step::MemoryUse V1Controllers::memory_use() const {
  // What the parent's group has used is not this step's; that something was killed in it concerns all who are in it.
  if (const auto it = lent_.find("memory"); it != lent_.end()) return {0, v1_oom_kills(it->second) > ooms_before_};
  const auto it = groups_.find("memory");
  if (it == groups_.end()) return {};
  return {number_of(it->second, "memory.max_usage_in_bytes") >> 20, v1_oom_kills(it->second) > 0};
}

base::Status V1Controllers::remove() {
  base::Status first;
  for (auto& [controller, group] : groups_)
    if (const base::Status removed = group.remove(); !removed && first) first = removed;
  if (first) groups_.clear();
  return first;
}

void V1Controllers::remove_parents(const std::string& group) {
  for (const auto& [controller, base_dir] : bases_)
    if (const auto g = Group::at(base_dir, group)) g->remove_parents();
}

}  // namespace gw::contain
