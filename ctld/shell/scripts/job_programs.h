// The controller's prologs and epilogs of jobs, which gscriptd runs. Invariants: each is answered once; those of one
// user take no more than their share of what runs at once; when gscriptd is away, they wait for a while and nothing
// else does. What was handed to a gscriptd that ended is handed to the next: a program may run more than once.
#pragma once

#include <functional>
#include <string>

#include "config/config.h"
#include "ctld/core/effects.h"
#include "ctld/shell/scripts/script_queue.h"

namespace gw::ctld {

class JobPrograms {
 public:
  static constexpr size_t kMostWaiting = 100'000;  ///< In all; each takes one or two KiB.
  static constexpr size_t kMostUnderWay = 64, kMostUnderWayOfUser = 16;
  using Done = std::function<void(ProgramEnd end)>;

  JobPrograms(io::Loop& loop, const config::Config& config);
  /// Another configuration holds.
  void set(const config::Config& config);
  /// `done` may be called before it returns.
  void run(const RunJobProgram& what, Done done);

 private:
  ScriptQueue queue_;
  std::string known_;  // of the configuration: what gscriptd is to know
};

}  // namespace gw::ctld
