// Containment without any help of the kernel's groups: the shepherd is a subreaper, so every descendant of the step,
// also one that called setsid, stays its descendant and can be found. Limits are not enforced.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "noded/step/containment.h"
#include "noded/step/proc/tree.h"

namespace gw::contain {
namespace {

namespace proc = noded::step::proc;
using noded::step::ContainSpec;

class None final : public noded::step::Containment {
 public:
  noded::step::ProbeReport probe() override {
    if (!proc::inspect(::getpid())) return {"none", false, "/proc is not mounted", {}};
    const std::string why = "needs cgroups";
    return {"none",
            true,
            "",
            {{"kill", true, ""},
             {"freeze", false, why},
             {"memory", false, why},
             {"pids", false, why},
             {"cpuset", false, why},
             {"devices", false, why}}};
  }
  base::Status prepare(const ContainSpec&) override { return {}; }
  // The descendants of a dead shepherd are not those of the process that cleans up after it: the launcher, to which
  // they fall, ends them itself.
  void attach(const ContainSpec&) override { is_attached_ = true; }
  int clone_into_fd() const override { return -1; }
  base::Status join(bool) override { return {}; }
  base::Status adopt(pid_t) override { return {}; }
  base::Status freeze() override {
    signal_all(SIGSTOP);
    return {};
  }
  base::Status thaw() override {
    signal_all(SIGCONT);
    return {};
  }
  std::vector<pid_t> members() override {
    std::vector<pid_t> pids;
    for (const proc::Process& p : processes()) pids.push_back(p.pid);
    return pids;
  }
  void signal_all(int signo) override { proc::signal_each(processes(), signo); }
  void kill_pass() override {
    if (!is_attached_) proc::kill_descendants(::getpid());
  }
  noded::step::MemoryUse memory_use() override { return {}; }
  base::Status remove() override { return {}; }
  void remove_parents(const std::string&) override {}

 private:
  bool is_attached_ = false;

  // Who has no child at all has no descendant either: spares a walk through /proc for nearly every step.
  static bool has_children() {
    siginfo_t info{};
    return ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
  }
  std::vector<proc::Process> processes() const {
    if (is_attached_ || !has_children()) return {};
    return proc::descendants(::getpid());
  }
};

}  // namespace
}  // namespace gw::contain

GW_CONTAIN_PLUGIN("none", gw::contain::None)
