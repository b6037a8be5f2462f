// See used.h.
#include "noded/step/tasks/used.h"

#include <algorithm>

namespace gw::noded::step {
namespace {

using model::RunUse;
using model::UseKind;

constexpr uint64_t kBlock = 512;  // of ru_inblock and ru_oublock (getrusage(2))

uint64_t microseconds(const timeval& time) {
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000 + static_cast<uint64_t>(time.tv_usec);
}

uint64_t& at(RunUse::Amounts& amounts, UseKind kind) { return amounts[static_cast<size_t>(kind)]; }

/// Memory that was used one after the other is not added up.
void add_to(RunUse::Amounts& to, const RunUse::Amounts& more) {
  for (size_t k = 0; k < model::kUseKinds; ++k) {
    const auto kind = static_cast<UseKind>(k);
    const bool is_memory = kind == UseKind::kRss || kind == UseKind::kVm;
    to[k] = is_memory ? std::max(to[k], more[k]) : to[k] + more[k];
  }
}

}  // namespace

void Used::add(pid_t pid, const rusage& usage) {
  const uint64_t user = microseconds(usage.ru_utime), system = microseconds(usage.ru_stime);
  user_us_ += user;
  system_us_ += system;
  RunUse::Amounts amounts{};
  at(amounts, UseKind::kCpu) = user + system;
  at(amounts, UseKind::kRss) = static_cast<uint64_t>(std::max(usage.ru_maxrss, 0L)) * 1024;
  at(amounts, UseKind::kRead) = static_cast<uint64_t>(std::max(usage.ru_inblock, 0L)) * kBlock;
  at(amounts, UseKind::kWritten) = static_cast<uint64_t>(std::max(usage.ru_oublock, 0L)) * kBlock;
  at(amounts, UseKind::kPages) = static_cast<uint64_t>(std::max(usage.ru_majflt, 0L));
  if (const auto before = unnamed_.find(pid); before != unnamed_.end()) {  // its number is given again
    add_to(others_, before->second);
    before->second = amounts;
  } else if (unnamed_.size() < kMostUnnamed) {
    unnamed_.emplace(pid, amounts);
  } else {
    add_to(others_, amounts);
  }
}

void Used::name(pid_t pid, uint32_t rank) {
  const auto found = unnamed_.find(pid);
  if (found == unnamed_.end()) return;
  add_to(tasks_[rank], found->second);
  unnamed_.erase(found);
}

void Used::look(const wire::NodeUsage& now) {
  for (const wire::TaskUsage& task : now.tasks()) {
    RunUse::Amounts seen{};
    at(seen, UseKind::kRss) = task.rss();
    at(seen, UseKind::kVm) = std::max(task.vm(), task.peak_vm());
    add_to(tasks_[task.rank()], seen);
  }
}

model::RunUse Used::total() const {
  RunUse use;
  use.user_us = user_us_;
  use.system_us = system_us_;
  RunUse::Amounts others = others_;
  for (const auto& [pid, amounts] : unnamed_) add_to(others, amounts);
  for (auto [rank, amounts] : tasks_) {
    if (tasks_.size() == 1) add_to(amounts, others);
    use.add_task(rank, amounts);
  }
  return use;
}

}  // namespace gw::noded::step
