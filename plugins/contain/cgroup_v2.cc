// Containment by cgroup v2 alone: one group with cgroup.kill, freeze, memory, pids, cpuset, and a BPF device program.
#include "noded/step/proc/tree.h"
#include "plugins/contain/support/v2.h"

namespace gw::contain {
namespace {

using noded::step::ContainSpec;

class CgroupV2 final : public noded::step::Containment {
 public:
  noded::step::ProbeReport probe() override {
    noded::step::ProbeReport report{"cgroup_v2", false, "", group_.probe()};
    report.usable = report.controllers.front().usable;
    report.why_not = report.controllers.front().why_not;
    return report;
  }
  base::Status prepare(const ContainSpec& spec) override {
    const base::Status done = group_.prepare(spec);
    if (!done) static_cast<void>(group_.remove());
    return done;
  }
  void attach(const ContainSpec& spec) override { group_.attach(spec); }
  int clone_into_fd() const override { return group_.clone_into_fd(); }
  base::Status join(bool cloned) override { return cloned ? base::Status{} : group_.adopt(0); }
  base::Status adopt(pid_t pid) override { return group_.adopt(pid); }
  base::Status freeze() override { return group_.set_frozen(true); }
  base::Status thaw() override { return group_.set_frozen(false); }
  std::vector<pid_t> members() override { return group_.processes(); }
  void signal_all(int signo) override { noded::step::proc::signal_pids(group_.own_processes(), signo); }
  void kill_pass() override { group_.kill_pass(); }
  noded::step::MemoryUse memory_use() override { return group_.memory_use(); }
  base::Status remove() override { return group_.remove(); }
  void remove_parents(const std::string& group) override { group_.remove_parents(group); }

 private:
  V2Group group_{find_mounts(), {"memory", "pids", "cpuset"}};
};

}  // namespace
}  // namespace gw::contain

GW_CONTAIN_PLUGIN("cgroup_v2", gw::contain::CgroupV2)
