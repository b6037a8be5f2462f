// The controller's prologs and epilogs of jobs, which gscriptd runs. Invariants: each is answered once; those of one
// user take no more than their share of what runs at once; epilogs do not wait for prologs; when gscriptd is away,
// prologs wait for a while, epilogs until it is back, and nothing else does. What was handed to a gscriptd that ended
// is handed to the next, once: a program may run more than once.
#pragma once

#include <functional>
#include <string>

#include "config/config.h"
#include "ctld/core/effects.h"
#include "ctld/shell/scripts/script_queue.h"

namespace gw::ctld {

class JobPrograms {
 public:
  static constexpr size_t kMostWaiting = 20'000, kMostOfUser = 2'000;    ///< Of each kind.
  static constexpr size_t kMostUnderWay = 64, kMostUnderWayOfUser = 16;  ///< Likewise.
  using Done = std::function<void(ProgramEnd end)>;

  JobPrograms(io::Loop& loop, const config::Config& config);
  /// Another configuration holds.
  void set(const config::Config& config);
  /// `done` may be called before it returns.
  void run(const RunJobProgram& what, Done done);

 private:
  ScriptQueue prologs_, epilogs_;
  std::string known_;  // of the configuration: what gscriptd is to know
};

}  // namespace gw::ctld
