// Hands mails to gscriptd, which runs the mail program. Invariants: a mail is handed on once at most, and those of one
// user in their order, one after the other; when gscriptd is away, mails wait and nothing else does.
#pragma once

#include <cstdint>
#include <string>

#include "base/time.h"
#include "ctld/core/effects.h"
#include "ctld/shell/scripts/script_queue.h"

namespace gw::ctld {

class Mails {
 public:
  static constexpr size_t kMostOfUser = 100;
  static constexpr size_t kMostWaiting = 10'000;
  /// Handed to gscriptd and not answered yet.
  static constexpr size_t kMostUnderWay = 16;

  Mails(io::Loop& loop, std::string socket);

  /// Sends it soon, or drops it, with a line in the log now and then, if too many wait.
  void send(SendMail mail, base::Time now);
  /// gscriptd is to read the configuration again, now or once it can be reached.
  void reload() { queue_.reload(); }

 private:
  ScriptQueue queue_;
  base::Time told_;  // when the log last said that one was dropped
};

}  // namespace gw::ctld
