// Binding a task to the cores and the memory of its place.
#include "noded/step/binding.h"

#include <linux/mempolicy.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <memory>
#include <system_error>

#include "base/text.h"

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

std::string mask_of(const cpu_set_t* set) {
  std::string digits;
  for (size_t first = 0; first < kCpus; first += 4) {
    unsigned digit = 0;
    for (size_t i = 0; i < 4; ++i) digit |= (CPU_ISSET_S(first + i, kCpuBytes, set) ? 1U : 0U) << i;
    digits += "0123456789abcdef"[digit];
  }
  digits.resize(std::max<size_t>(digits.find_last_not_of('0') + 1, 1));
  std::reverse(digits.begin(), digits.end());
  return "0x" + digits;
}

}  // namespace

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

std::string bind_to_memory(const std::string& mems) {
  const auto wanted = parse_indices(mems);
  if (!wanted) return "memory nodes \"" + base::printable(mems) + "\" are no list";
  if (wanted->empty()) return {};
  std::vector<unsigned long> mask((kMaxIndex + kWordBits) / kWordBits);
  constexpr unsigned kMostNodes = 1024;  // the kernel refuses masks that name more
  for (const unsigned node : *wanted)
    if (node < kMostNodes) mask[node / kWordBits] |= 1UL << (node % kWordBits);
  if (::syscall(SYS_set_mempolicy, MPOL_BIND, mask.data(), static_cast<unsigned long>(kMostNodes)) == 0) return {};
  return errno == EINVAL ? "" : note("binding to memory");  // nodes that are not here
}

std::string describe_binding(const std::string& node, unsigned rank, unsigned place, const std::string& gpus) {
  const CpuSet own = no_cpus();
  static_cast<void>(::sched_getaffinity(0, kCpuBytes, own.get()));
  char task[64];
  std::snprintf(task, sizeof task, "task %2u %2u [%d]: ", rank, place, static_cast<int>(::getpid()));
  std::string text = "cpu-bind=MASK - " + node + ", " + task + "mask " + mask_of(own.get()) + " set\n";
  if (!gpus.empty()) text += "gpu-bind: " + node + ", " + task + gpus + "\n";
  return text;
}

}  // namespace gw::noded::step
