// Processes as /proc shows them.
#include "noded/step/proc/tree.h"

#include <dirent.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <charconv>
#include <memory>
#include <unordered_map>

#include "base/text.h"
#include "noded/step/proc/files.h"
#include "noded/step/proc/owned_fd.h"

namespace gw::noded::step::proc {
namespace {

template <typename T>
bool parse_number(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

std::vector<Process> all_processes() {
  std::vector<Process> found;
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(::opendir("/proc"), ::closedir);
  if (!dir) return found;
  while (const dirent* entry = ::readdir(dir.get())) {
    pid_t pid = 0;
    if (!parse_number(std::string_view(entry->d_name), pid)) continue;
    if (auto process = inspect(pid)) found.push_back(std::move(*process));
  }
  return found;
}

OwnedFd open_pidfd(pid_t pid) { return OwnedFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))); }

void send(const OwnedFd& pidfd, pid_t pid, int signo) {
  if (pidfd) {
    ::syscall(SYS_pidfd_send_signal, pidfd.get(), signo, nullptr, 0);
  } else {
    ::kill(pid, signo);  // a kernel without pidfds
  }
}

}  // namespace

std::optional<Process> parse_stat(std::string_view text) {
  // The command stands in parentheses and may hold spaces and parentheses itself.
  const size_t open = text.find('(');
  const size_t close = text.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return std::nullopt;
  const std::vector<std::string> fields = base::split(base::trim(text.substr(close + 1)), ' ');
  if (fields.size() < 20 || fields[0].size() != 1) return std::nullopt;
  Process p;
  p.state = fields[0][0];
  p.command = text.substr(open + 1, close - open - 1);
  if (!parse_number(base::trim(text.substr(0, open)), p.pid) || !parse_number(std::string_view(fields[1]), p.parent) ||
      !parse_number(std::string_view(fields[17]), p.threads) ||
      !parse_number(std::string_view(fields[19]), p.start_ticks))
    return std::nullopt;
  return p;
}

std::optional<Process> inspect(pid_t pid) {
  const auto text = read_file("/proc/" + std::to_string(pid) + "/stat");
  if (!text) return std::nullopt;
  return parse_stat(*text);
}

bool would_die_of(pid_t pid, int signo) {
  for (const int harmless : {SIGCHLD, SIGCONT, SIGURG, SIGWINCH})
    if (signo == harmless) return false;
  const auto text = read_file("/proc/" + std::to_string(pid) + "/status");
  if (!text || signo < 1 || signo > 64) return true;
  for (const std::string_view set : {"\nSigCgt:\t", "\nSigIgn:\t"}) {
    const size_t at = text->find(set);
    if (at == std::string::npos) continue;
    uint64_t signals = 0;
    const char* digits = text->data() + at + set.size();
    std::from_chars(digits, text->data() + text->size(), signals, 16);
    if ((signals >> (signo - 1)) & 1) return false;
  }
  return true;
}

std::vector<Process> descendants(pid_t root, const std::set<pid_t>& except) {
  const std::vector<Process> all = all_processes();
  std::unordered_multimap<pid_t, const Process*> children;
  for (const Process& p : all) children.emplace(p.parent, &p);
  std::vector<Process> found;
  std::vector<pid_t> open{root};
  while (!open.empty()) {
    const pid_t parent = open.back();
    open.pop_back();
    const auto [begin, end] = children.equal_range(parent);
    for (auto it = begin; it != end; ++it) {
      const Process& p = *it->second;
      if (except.contains(p.pid)) continue;
      open.push_back(p.pid);
      if (p.is_alive()) found.push_back(p);
    }
  }
  return found;
}

void signal_each(std::span<const Process> processes, int signo) {
  for (const Process& p : processes) {
    const OwnedFd pidfd = open_pidfd(p.pid);
    const auto now = inspect(p.pid);
    if (now && now->start_ticks == p.start_ticks) send(pidfd, p.pid, signo);
  }
}

void signal_pids(std::span<const pid_t> pids, int signo) {
  for (const pid_t pid : pids) send(open_pidfd(pid), pid, signo);
}

void kill_descendants(pid_t root, const std::set<pid_t>& except) {
  std::set<pid_t> stopped;
  // Each round stops what the round before may have missed; a fork in progress makes one more round.
  for (int round = 0; round < 16; ++round) {
    std::vector<Process> fresh;
    for (Process& p : descendants(root, except))
      if (stopped.insert(p.pid).second) fresh.push_back(std::move(p));
    if (fresh.empty()) break;
    signal_each(fresh, SIGSTOP);
  }
  signal_each(descendants(root, except), SIGKILL);
}

std::string describe(pid_t pid) {
  const auto p = inspect(pid);
  if (!p) return "pid " + std::to_string(pid);
  std::string text = "pid " + std::to_string(pid) + " (" + base::printable(p->command) + ") in state " + p->state;
  const auto where = read_file("/proc/" + std::to_string(pid) + "/wchan");
  if (where && !where->empty() && *where != "0") text += ", waiting in " + base::printable(*where);
  return text;
}

}  // namespace gw::noded::step::proc
