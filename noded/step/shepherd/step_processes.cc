// The processes of one step, as its shepherd holds them.
#include "noded/step/shepherd/step_processes.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "noded/step/contain/contain_spec.h"

namespace gw::noded::step {
namespace {
constexpr int64_t kBetweenLooks = 30'000'000;  // as often as Slurm's JobAcctGatherFrequency says by default
}

base::Status StepProcesses::prepare(const wire::Containment& limits) {
  if (!contain_) return base::Status(base::pass(contain_));
  if (const base::Status prepared = (*contain_)->prepare(contain_spec(limits)); !prepared)
    return base::fail(prepared.error().code, "containment: " + prepared.error().text());
  return {};
}

void StepProcesses::reap(const std::function<void(pid_t pid, int status)>& on_end) {
  for (;;) {
    int status = 0;
    rusage usage{};
    const pid_t pid = ::wait4(-1, &status, WNOHANG, &usage);
    if (pid <= 0) {
      has_children_ = pid == 0;
      return;
    }
    peak_rss_kb_ = std::max<int64_t>(peak_rss_kb_, usage.ru_maxrss);
    used_.add(pid, usage);
    on_end(pid, status);
  }
}

MemoryUse StepProcesses::memory() const {
  MemoryUse use = has_contain() ? (*contain_)->memory_use() : MemoryUse{};
  if (use.peak_mb == 0) use.peak_mb = static_cast<uint64_t>((peak_rss_kb_ + 1023) / 1024);
  return use;
}

// Looking at all processes of a machine takes its time: who asks often gets what was seen a moment ago.
const wire::NodeUsage& StepProcesses::usage(int64_t now, const std::function<std::vector<TaskAt>()>& tasks) {
  constexpr int64_t kAge = 500'000;
  if (usage_at_ == 0 || now - usage_at_ >= kAge) {
    usage_ = usage_of(::getpid(), tasks(), has_contain() ? contain_->get() : nullptr);
    usage_at_ = now;
    used_.look(usage_);
  }
  return usage_;
}

void StepProcesses::look(int64_t now, const std::function<std::vector<TaskAt>()>& tasks) {
  if (now < look_at_) return;
  if (look_at_ != 0) static_cast<void>(usage(now, tasks));
  look_at_ = now + kBetweenLooks;
}

void StepProcesses::signal(int signo) {
  if (has_contain()) (*contain_)->signal_all(signo);
}

void StepProcesses::kill() {
  if (has_contain()) (*contain_)->kill_pass();
}

}  // namespace gw::noded::step
