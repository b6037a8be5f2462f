// The processes of one step, as its shepherd holds them: its containment, and all that descends from the shepherd.
// Invariant: a process that has moved itself out of the containment is still one of them.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <vector>

#include "noded/step/containment.h"
#include "noded/step/tasks/step_usage.h"
#include "noded/step/tasks/used.h"
#include "wire/step.pb.h"

namespace gw::noded::step {

class StepProcesses {
 public:
  /// `contain`: an unused object, or the error to report.
  explicit StepProcesses(base::Result<std::unique_ptr<Containment>> contain) : contain_(std::move(contain)) {}

  /// Makes the groups. Errors: there is no containment; as Containment::prepare.
  base::Status prepare(const wire::Containment& limits);
  /// Only once it is prepared.
  Containment& containment() { return **contain_; }

  /// A child has been forked.
  void on_fork() { has_children_ = true; }
  /// Hands over all children that have ended.
  void reap(const std::function<void(pid_t pid, int status)>& on_end);
  bool has_children() const { return has_children_; }
  bool is_empty() const { return !has_children_ && members().empty(); }
  std::vector<pid_t> members() const { return has_contain() ? (*contain_)->members() : std::vector<pid_t>{}; }
  MemoryUse memory() const;
  /// What it all came to so far.
  Used& used() { return used_; }
  /// Looks at what they use, once in a while: who asks later is told of the most that was seen.
  void look(int64_t now, const std::function<std::vector<TaskAt>()>& tasks);
  int64_t next_look() const { return look_at_; }
  /// What they use, as it was at most a moment ago.
  const wire::NodeUsage& usage(int64_t now, const std::function<std::vector<TaskAt>()>& tasks);

  // Nothing of these happens where there is no containment.
  void signal(int signo);
  base::Status freeze() { return has_contain() ? (*contain_)->freeze() : base::Status{}; }
  base::Status thaw() { return has_contain() ? (*contain_)->thaw() : base::Status{}; }
  void kill();
  /// Removes the groups, which must be empty. Errors: busy.
  base::Status remove() { return has_contain() ? (*contain_)->remove() : base::Status{}; }

 private:
  base::Result<std::unique_ptr<Containment>> contain_;
  bool has_children_ = false;
  int64_t peak_rss_kb_ = 0;  // largest process, where no group measures memory
  wire::NodeUsage usage_;    // as it was
  int64_t usage_at_ = 0;     // then, by the monotonic clock
  int64_t look_at_ = 0;      // when they are looked at next; 0: they have not begun
  Used used_;

  bool has_contain() const { return contain_.has_value() && *contain_ != nullptr; }
};

}  // namespace gw::noded::step
