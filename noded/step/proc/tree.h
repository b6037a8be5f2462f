// Processes as /proc shows them, their descent, and signals that cannot hit a stranger.
// Invariant: a signal goes through a pidfd whose process still has the start time that was seen: pids wrap.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gw::noded::step::proc {

struct Process {
  pid_t pid = 0;
  pid_t parent = 0;
  char state = '?';  ///< As in /proc/PID/stat: R, S, D, Z, ...
  uint32_t threads = 0;
  uint64_t start_ticks = 0;  ///< Since boot; with pid it names one process.
  std::string command;

  /// Still runs or can run: a zombie does not, unless threads outlive its first one.
  bool is_alive() const { return (state != 'Z' && state != 'X') || threads > 1; }
};

/// Reads the text of /proc/PID/stat; nothing if it is malformed.
std::optional<Process> parse_stat(std::string_view text);
/// The process now; nothing if there is none.
std::optional<Process> inspect(pid_t pid);
/// Living processes that descend from `root`, parents before children; neither those in `except` nor what descends
/// from them.
std::vector<Process> descendants(pid_t root, const std::set<pid_t>& except = {});
/// Sends a signal to each that is still the process that was seen. What has gone is no error.
void signal_each(std::span<const Process> processes, int signo);
/// The same for bare pids of which `root` need not be the ancestor.
void signal_pids(std::span<const pid_t> pids, int signo);
/// Stops all descendants first, so that none forks away, then kills them.
void kill_descendants(pid_t root, const std::set<pid_t>& except = {});
/// Whether the default action of a signal, which it neither catches nor ignores now, would end the process; true of one
/// that has gone.
bool would_die_of(pid_t pid, int signo);
/// "pid 71 (python3) in state D, waiting in nfs_wait_on_request".
std::string describe(pid_t pid);

}  // namespace gw::noded::step::proc
