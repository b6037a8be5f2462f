// What a command says when a signal ends it.
#include "cmds/shared/last_words.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstring>
#include <string>

namespace gw::cmds {
namespace {

// A handler may call next to nothing, so that the text is made before. Two places: one may be printed while the next
// text is written into the other.
char texts[2][512];
std::atomic<const char*> last_words = nullptr;

void on_signal(int signo) {
  if (const char* text = last_words.load(); text != nullptr) {
    const ssize_t written = ::write(STDERR_FILENO, text, std::strlen(text));
    static_cast<void>(written);
  }
  std::raise(signo);  // the handler was reset: this ends it
}

}  // namespace

void say_when_interrupted(const client::Program& program, std::string_view text) {
  char* free = last_words.load() == texts[0] ? texts[1] : texts[0];
  const std::string line =
      fmt::format("{}: {}\n", program.name, text.substr(0, 500 - std::min<size_t>(program.name.size(), 100)));
  std::strncpy(free, line.c_str(), sizeof texts[0] - 1);
  last_words = free;
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = static_cast<int>(SA_RESETHAND) | SA_NODEFER;
  for (const int signo : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction present {};
    if (::sigaction(signo, nullptr, &present) == 0 && present.sa_handler == SIG_IGN) continue;
    ::sigaction(signo, &action, nullptr);
  }
}

}  // namespace gw::cmds
