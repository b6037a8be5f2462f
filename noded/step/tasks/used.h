// What the processes of a step used, put together as they end: the kernel tells it of each with its exit, and of those
// that it had waited for. What lives is looked at now and then, for the memory that several processes have together.
// Invariant: a process counts once: with who waited for it, or by itself.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <cstdint>
#include <map>

#include "model/run_use.h"
#include "wire/usage.pb.h"

namespace gw::noded::step {

class Used {
 public:
  /// A process was reaped that the kernel says this of.
  void add(pid_t pid, const rusage& usage);
  /// The process that was reaped as `pid` was this task. Its death may be known before its birth is.
  void name(pid_t pid, uint32_t rank);
  /// What tasks use now.
  void look(const wire::NodeUsage& now);
  /// Of one task what no task has waited for is its own, too; among several it is nobody's.
  model::RunUse total() const;

 private:
  static constexpr size_t kMostUnnamed = 10'000;

  std::map<uint32_t, model::RunUse::Amounts> tasks_;  // by rank
  std::map<pid_t, model::RunUse::Amounts> unnamed_;   // those that may be named yet
  model::RunUse::Amounts others_{};                   // all before
  uint64_t user_us_ = 0, system_us_ = 0;
};

}  // namespace gw::noded::step
