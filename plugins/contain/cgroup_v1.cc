// Containment by cgroup v1 alone: cpuset, memory, pids, devices, and the freezer to hold and end the processes.
#include "noded/step/proc/tree.h"
#include "plugins/contain/support/v1.h"

namespace gw::contain {
namespace {

using noded::step::ContainSpec;

class CgroupV1 final : public noded::step::Containment {
 public:
  noded::step::ProbeReport probe() override {
    noded::step::ProbeReport report{"cgroup_v1", false, "", groups_.probe()};
    for (const auto& c : report.controllers)
      if (c.controller == "freeze") {
        // Killing needs the freezer: without it a process that forks can outrun its killer.
        report.usable = c.usable;
        report.why_not = c.usable ? "" : "freezer: " + c.why_not;
      }
    report.controllers.push_back({"kill", report.usable, report.why_not});
    return report;
  }
  base::Status prepare(const ContainSpec& spec) override {
    const base::Status done = groups_.prepare(spec);
    if (!done) static_cast<void>(groups_.remove());
    return done;
  }
  void attach(const ContainSpec& spec) override { groups_.attach(spec); }
  int clone_into_fd() const override { return -1; }
  base::Status join(bool) override { return groups_.join(); }
  base::Status adopt(pid_t pid) override { return groups_.adopt(pid); }
  base::Status freeze() override { return groups_.set_frozen(true); }
  base::Status thaw() override { return groups_.set_frozen(false); }
  std::vector<pid_t> members() override { return groups_.processes(); }
  void signal_all(int signo) override { noded::step::proc::signal_pids(groups_.own_processes(), signo); }
  void kill_pass() override { groups_.kill_pass(); }
  noded::step::MemoryUse memory_use() override { return groups_.memory_use(); }
  base::Status remove() override { return groups_.remove(); }
  void remove_parents(const std::string& group) override { groups_.remove_parents(group); }

 private:
  V1Controllers groups_{find_mounts(), {"cpuset", "memory", "pids", "devices", "freezer"}};
};

}  // namespace
}  // namespace gw::contain

GW_CONTAIN_PLUGIN("cgroup_v1", gw::contain::CgroupV1)
