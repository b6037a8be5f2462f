// The daemon's side of the launcher (`gstepd --launcher`): started if none answers, and again when it has died. The
// launcher outlives the daemon.
// Invariants: a launch is answered once, by on_forked or on_failed; launches wait while there is no launcher.
#pragma once

#include <sys/types.h>

#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <string>

#include "io/loop.h"
#include "noded/core/facts.h"
#include "noded/shell/message_stream.h"
#include "wire/step.pb.h"

namespace gw::noded {

struct LauncherSettings {
  std::string program;  ///< Path of gstepd.
  std::string socket;
  std::string log;  ///< Where its messages go, and those of the shepherds.
};

class Launcher {
 public:
  struct Events {
    std::function<void(RunKey)> on_forked;
    std::function<void(RunKey, const std::string& why)> on_failed;
    std::function<void(RunKey, int code, int signo)> on_gone;
    std::function<void(bool is_error, const std::string&)> say;
  };
  Launcher(io::Loop& loop, LauncherSettings settings, Events events);

  /// Connects, starting a launcher if none answers.
  void start();
  void launch(const wire::StepSpec& spec);
  /// Tells the launcher of another program to leave once its last shepherd has gone. Its socket is removed if nobody
  /// answers.
  static void dismiss(const std::string& socket);

 private:
  void connect_or_spawn();
  bool connect();
  void spawn();
  void retry(base::Duration delay);
  void on_payload(const std::string& payload);
  void on_closed();
  void fail_all(const std::string& why);
  void reap();

  io::Loop& loop_;
  LauncherSettings settings_;
  Events events_;
  std::shared_ptr<MessageStream> stream_;
  std::deque<wire::ToLauncher> waiting_;  // until there is a launcher
  std::set<RunKey> sent_;                 // not answered yet
  pid_t child_ = 0;                       // the launcher that we started, not reaped yet
  int tries_ = 0;                         // of connecting since the last success
  io::Timer timer_;
};

}  // namespace gw::noded
