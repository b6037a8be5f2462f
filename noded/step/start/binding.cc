// Binding a task to the cores and the memory of its place.
#include "noded/step/start/binding.h"

#include <linux/mempolicy.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <memory>
#include <system_error>

#include "base/text.h"
#include "bind/words.h"

namespace gw::noded::step {
namespace {

constexpr size_t kWordBits = sizeof(unsigned long) * CHAR_BIT;

struct FreeCpus {
  void operator()(cpu_set_t* set) const { CPU_FREE(set); }
};
using CpuSet = std::unique_ptr<cpu_set_t, FreeCpus>;
constexpr size_t kCpus = kMaxIndex + 1;
const size_t kCpuBytes = CPU_ALLOC_SIZE(kCpus);

CpuSet no_cpus() {
  CpuSet set(CPU_ALLOC(kCpus));
  CPU_ZERO_S(kCpuBytes, set.get());
  return set;
}

std::string note(const char* what) { return std::string(what) + ": " + std::generic_category().message(errno); }

constexpr int kPreferredMany = 5;  // MPOL_PREFERRED_MANY, which older headers do not have

}  // namespace

base::IndexSet index_set(const std::string& text) {
  auto set = base::IndexSet::parse(text);
  return set ? std::move(*set) : base::IndexSet{};
}

std::optional<base::IndexSet> cpus_of(pid_t thread) {
  const CpuSet kernels = no_cpus();
  if (::sched_getaffinity(thread, kCpuBytes, kernels.get()) != 0) return std::nullopt;
  base::IndexSet set;
  for (uint32_t cpu = 0; cpu < kCpus; ++cpu)
    if (CPU_ISSET_S(cpu, kCpuBytes, kernels.get())) set.insert(cpu);
  return set;
}

bool set_cpus(pid_t thread, const base::IndexSet& cpus) {
  const CpuSet set = no_cpus();
  for (const uint32_t cpu : cpus.to_vector())
    if (cpu < kCpus) CPU_SET_S(cpu, kCpuBytes, set.get());
  return ::sched_setaffinity(thread, kCpuBytes, set.get()) == 0;
}

std::optional<std::vector<unsigned>> parse_indices(std::string_view text) {
  std::vector<unsigned> found;
  if (text.empty()) return found;
  for (const std::string& part : base::split(text, ',')) {
    const size_t dash = part.find('-');
    const auto first = base::parse_int(std::string_view(part).substr(0, dash), 0, kMaxIndex, "index");
    const auto last = dash == std::string::npos ? first : base::parse_int(part.substr(dash + 1), 0, kMaxIndex, "index");
    if (!first || !last || *last < *first) return std::nullopt;
    for (int64_t i = *first; i <= *last; ++i) found.push_back(static_cast<unsigned>(i));
  }
  return found;
}

std::string bind_to_cpus(const std::string& cpus) {
  const auto wanted = parse_indices(cpus);
  if (!wanted) return "cores \"" + base::printable(cpus) + "\" are no list";
  const CpuSet own = no_cpus();
  if (::sched_getaffinity(0, kCpuBytes, own.get()) != 0) return note("reading the cores");
  const CpuSet set = no_cpus();
  for (const unsigned cpu : *wanted)
    if (CPU_ISSET_S(cpu, kCpuBytes, own.get())) CPU_SET_S(cpu, kCpuBytes, set.get());
  if (CPU_COUNT_S(kCpuBytes, set.get()) == 0) return {};
  return ::sched_setaffinity(0, kCpuBytes, set.get()) == 0 ? "" : note("binding to cores");
}

std::string bind_to_memory(const std::string& mems, bool prefers) {
  const auto wanted = parse_indices(mems);
  if (!wanted) return "memory nodes \"" + base::printable(mems) + "\" are no list";
  if (wanted->empty()) return {};
  std::vector<unsigned long> mask((kMaxIndex + kWordBits) / kWordBits);
  constexpr unsigned kMostNodes = 1024;  // the kernel refuses masks that name more
  for (const unsigned node : *wanted)
    if (node < kMostNodes) mask[node / kWordBits] |= 1UL << (node % kWordBits);
  const auto set = [&](int how) {
    return ::syscall(SYS_set_mempolicy, how, mask.data(), static_cast<unsigned long>(kMostNodes)) == 0;
  };
  // Kernels before 5.15 prefer one node only: the first.
  if (prefers ? set(kPreferredMany) || set(MPOL_PREFERRED) : set(MPOL_BIND)) return {};
  return errno == EINVAL ? "" : note("binding to memory");  // nodes that are not here
}

std::string describe_binding(const BoundTask& task, const wire::TaskPlace& place, const wire::BindingManner& manner) {
  char who[64];
  std::snprintf(who, sizeof who, ", task %2u %2u [%d]: ", task.rank, task.place, static_cast<int>(::getpid()));
  const std::string at = " - " + task.node + who;
  const std::string set = manner.only_records() ? " would be set (emulated node)\n" : " set\n";
  std::string text;
  if (manner.says_cpus()) {
    const bool is_bound = !place.cpus().empty();
    const base::IndexSet cpus =
        manner.only_records() && is_bound ? index_set(place.cpus()) : cpus_of(0).value_or(base::IndexSet{});
    text += "cpu-bind=" + manner.cpu_kind() + at + "mask " + bind::mask_text(cpus) + (is_bound ? set : "\n");
  }
  if (manner.says_memory()) {
    const bool is_bound = !place.mems().empty();
    text += std::string("mem-bind=") + (is_bound ? "MASK" : "NONE") + at +
            (is_bound ? "mask " + bind::mask_text(index_set(place.mems())) + set : "all of the job\n");
  }
  if (manner.says_gpus()) text += "gpu-bind" + at + (task.gpus.empty() ? "none" : task.gpus) + "\n";
  return text;
}

}  // namespace gw::noded::step
