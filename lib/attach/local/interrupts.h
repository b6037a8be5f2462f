// What ctrl-C means, by when it came: once shows the state of the tasks, twice within a second ends the step, and once
// more ends it at once. Pure.
#pragma once

#include <optional>

#include "base/time.h"

namespace gw::attach {

class Interrupts {
 public:
  enum class Act {
    kShow,  ///< Say how the tasks are, and that one more ends them.
    kEnd,   ///< Send the tasks SIGINT, and soon end them.
    kKill,  ///< End them now, and wait for nothing.
  };
  /// `is_asking`: the first one only shows.
  explicit Interrupts(bool is_asking) : is_asking_(is_asking) {}
  Act next(base::Duration now) {
    if (has_ended_) return Act::kKill;
    const bool is_second = last_ && now - *last_ <= base::seconds(1);
    last_ = now;
    if (is_asking_ && !is_second) return Act::kShow;
    has_ended_ = true;
    return Act::kEnd;
  }

 private:
  bool is_asking_;
  bool has_ended_ = false;
  std::optional<base::Duration> last_;
};

}  // namespace gw::attach
