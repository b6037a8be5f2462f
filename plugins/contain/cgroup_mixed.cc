// Containment on machines that mount both: v2 holds, freezes, kills and hides devices; v1 limits memory, pids and
// cores.
#include "noded/step/proc/tree.h"
#include "plugins/contain/support/v1.h"
#include "plugins/contain/support/v2.h"

namespace gw::contain {
namespace {

using noded::step::ContainSpec;

class CgroupMixed final : public noded::step::Containment {
 public:
  noded::step::ProbeReport probe() override {
    noded::step::ProbeReport report{"cgroup_mixed", false, "", holder_.probe()};
    report.usable = report.controllers.front().usable;
    report.why_not = report.controllers.front().why_not;
    for (auto& c : limits_.probe()) report.controllers.push_back(std::move(c));
    return report;
  }
  base::Status prepare(const ContainSpec& spec) override {
    base::Status done = holder_.prepare(spec);
    if (done) done = limits_.prepare(spec);
    if (!done) static_cast<void>(remove());
    return done;
  }
  void attach(const ContainSpec& spec) override {
    holder_.attach(spec);
    limits_.attach(spec);
  }
  int clone_into_fd() const override { return holder_.clone_into_fd(); }
  base::Status join(bool cloned) override {
    if (!cloned) GW_TRY_STATUS(holder_.adopt(0));
    return limits_.join();
  }
  base::Status adopt(pid_t pid) override {
    GW_TRY_STATUS(holder_.adopt(pid));
    return limits_.adopt(pid);
  }
  base::Status freeze() override { return holder_.set_frozen(true); }
  base::Status thaw() override { return holder_.set_frozen(false); }
  std::vector<pid_t> members() override { return holder_.processes(); }
  void signal_all(int signo) override { noded::step::proc::signal_pids(holder_.own_processes(), signo); }
  void kill_pass() override { holder_.kill_pass(); }
  noded::step::MemoryUse memory_use() override { return limits_.memory_use(); }
  base::Status remove() override {
    const base::Status held = holder_.remove();
    const base::Status limited = limits_.remove();
    return held ? limited : held;
  }
  void remove_parents(const std::string& group) override {
    holder_.remove_parents(group);
    limits_.remove_parents(group);
  }

 private:
  V2Group holder_{find_mounts(), {}};
  V1Controllers limits_{find_mounts(), {"cpuset", "memory", "pids"}};
};

}  // namespace
}  // namespace gw::contain

GW_CONTAIN_PLUGIN("cgroup_mixed", gw::contain::CgroupMixed)
