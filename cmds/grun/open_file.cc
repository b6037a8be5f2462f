// See open_file.h.
#include "cmds/grun/open_file.h"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <iterator>

namespace gw::cmds {
namespace {

constexpr int kSignals[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP};

/// The loop's handler of a signal, and whether a signal waits for the loop. Handlers reach nothing but statics.
struct Arrival {
  void (*next)(int) = nullptr;
  volatile std::sig_atomic_t is_waiting = 0;
};
std::array<Arrival, NSIG> g_arrivals;

void on_arrival(int signo) {
  Arrival& arrival = g_arrivals[static_cast<size_t>(signo)];
  arrival.is_waiting = 1;
  arrival.next(signo);
}

}  // namespace

void note_arrivals(int signo) {
  struct sigaction action {};
  if (::sigaction(signo, nullptr, &action) != 0 || action.sa_handler == on_arrival) return;
  g_arrivals[static_cast<size_t>(signo)].next = action.sa_handler;
  action.sa_handler = on_arrival;
  ::sigaction(signo, &action, nullptr);
}

void note_handled(int signo) { g_arrivals[static_cast<size_t>(signo)].is_waiting = 0; }

int open_file(const std::string& path, int flags) {
  struct sigaction handlers[std::size(kSignals)], standard{};
  standard.sa_handler = SIG_DFL;
  for (size_t i = 0; i < std::size(kSignals); ++i) {
    ::sigaction(kSignals[i], nullptr, &handlers[i]);
    if (handlers[i].sa_handler != SIG_IGN) ::sigaction(kSignals[i], &standard, nullptr);
  }
  for (const int signo : kSignals)
    if (g_arrivals[static_cast<size_t>(signo)].is_waiting != 0) (void)::raise(signo);
  const int fd = ::open(path.c_str(), flags, 0666);
  const int error = errno;
  for (size_t i = 0; i < std::size(kSignals); ++i) ::sigaction(kSignals[i], &handlers[i], nullptr);
  errno = error;
  return fd;
}

}  // namespace gw::cmds
