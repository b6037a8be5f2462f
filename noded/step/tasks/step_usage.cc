// Adding up processes.
#include "noded/step/tasks/step_usage.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "base/text.h"
#include "noded/step/containment.h"
#include "noded/step/proc/files.h"
#include "noded/step/proc/tree.h"
#include "noded/step/tasks/task_descent.h"

namespace gw::noded::step {
namespace {

constexpr uint64_t kMb = 1 << 20;

struct Use {
  pid_t session = 0;
  int64_t cpu_us = 0;
  uint64_t rss = 0, peak_rss = 0, vm = 0, peak_vm = 0;
  uint64_t read = 0, written = 0, pages = 0;
};

uint64_t number(std::string_view text) {
  uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

/// "VmRSS:    1234 kB" of /proc/PID/status, in bytes.
uint64_t size_in(std::string_view status, std::string_view name) {
  const size_t at = status.find(name);
  if (at == std::string_view::npos) return 0;
  return number(base::trim(status.substr(at + name.size(), 40))) * 1024;
}

/// "read_bytes: 4096" of /proc/PID/io, which only the owner and root may read.
uint64_t bytes_in(std::string_view io, std::string_view name) {
  const size_t at = io.find(name);
  return at == std::string_view::npos ? 0 : number(base::trim(io.substr(at + name.size(), 40)));
}

// Times and faults of children that have been waited for are their parent's; what those read and wrote is not.
std::optional<Use> use_of(pid_t pid) {
  static const uint64_t ticks = static_cast<uint64_t>(std::max(::sysconf(_SC_CLK_TCK), 1L));
  const std::string folder = "/proc/" + std::to_string(pid);
  const auto stat = proc::read_file(folder + "/stat"), status = proc::read_file(folder + "/status");
  if (!stat || !status) return std::nullopt;
  const size_t close = stat->rfind(')');
  if (close == std::string::npos) return std::nullopt;
  const auto fields = base::split(base::trim(std::string_view(*stat).substr(close + 1)), ' ');
  constexpr size_t kSession = 3, kFaults = 9, kFaultsOfChildren = 10;
  constexpr size_t kFirstTime = 11, kTimes = 4;  // utime, stime, and those of children
  if (fields.size() < kFirstTime + kTimes) return std::nullopt;
  Use use;
  use.session = static_cast<pid_t>(number(fields[kSession]));
  uint64_t spent = 0;
  for (size_t i = 0; i < kTimes; ++i) spent += number(fields[kFirstTime + i]);
  use.cpu_us = static_cast<int64_t>(spent * 1'000'000 / ticks);
  use.rss = size_in(*status, "\nVmRSS:");
  use.peak_rss = size_in(*status, "\nVmHWM:");
  use.vm = size_in(*status, "\nVmSize:");
  use.peak_vm = size_in(*status, "\nVmPeak:");
  use.pages = number(fields[kFaults]) + number(fields[kFaultsOfChildren]);
  if (const auto io = proc::read_file(folder + "/io")) {
    use.read = bytes_in(*io, "\nread_bytes:");
    use.written = bytes_in(*io, "\nwrite_bytes:");
  }
  return use;
}

void add(const Use& use, wire::TaskUsage& to) {
  to.set_cpu_us(to.cpu_us() + use.cpu_us);
  to.set_rss(to.rss() + use.rss);
  to.set_peak_rss(to.peak_rss() + use.peak_rss);
  to.set_vm(to.vm() + use.vm);
  to.set_peak_vm(to.peak_vm() + use.peak_vm);
  to.set_read(to.read() + use.read);
  to.set_written(to.written() + use.written);
  to.set_pages(to.pages() + use.pages);
  to.set_processes(to.processes() + 1);
}

void add(const Use& use, wire::NodeUsage& to) {
  to.set_cpu_us(to.cpu_us() + use.cpu_us);
  to.set_mem(to.mem() + use.rss);
  to.set_peak_mem(to.peak_mem() + use.peak_rss);
}

}  // namespace

wire::NodeUsage usage_of(pid_t root, const std::vector<TaskAt>& tasks, Containment* contain) {
  wire::NodeUsage usage;
  TaskDescent descent;
  for (const TaskAt& task : tasks) {
    descent.add(task.pid, static_cast<size_t>(usage.tasks_size()));
    wire::TaskUsage& t = *usage.add_tasks();
    t.set_rank(task.rank);
    t.set_pid(static_cast<uint32_t>(task.pid));
  }
  for (const proc::Process& process : proc::descendants(root)) {  // parents come first
    const auto use = use_of(process.pid);
    if (!use) continue;
    add(*use, usage);
    if (const auto task = descent.find(process, use->session)) add(*use, *usage.mutable_tasks(static_cast<int>(*task)));
  }
  if (contain != nullptr) usage.set_peak_mem(std::max(usage.peak_mem(), contain->memory_use().peak_mb * kMb));
  return usage;
}

wire::NodeUsage usage_of(const std::vector<pid_t>& processes) {
  wire::NodeUsage usage;
  for (const pid_t pid : processes)
    if (const auto use = use_of(pid)) add(*use, usage);
  return usage;
}

}  // namespace gw::noded::step
