// What sacctmgr says before a change, and how it asks. Under Slurm's name a change is tried first, shown, and made once
// somebody has said yes (or with --immediate).
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>

#include "base/text.h"
#include "cmds/gacctmgr/acct.h"

namespace gw::cmds {
namespace {

constexpr int kSecondsToDecide = 30;

/// The first line that comes within the time; empty: none did, or there is nobody to ask.
std::string answer() {
  std::string line;
  const std::time_t last = std::time(nullptr) + kSecondsToDecide;
  while (true) {
    const std::time_t left = last - std::time(nullptr);
    pollfd in{STDIN_FILENO, POLLIN, 0};
    if (left <= 0) return {};
    const int ready = ::poll(&in, 1, static_cast<int>(left) * 1000);
    if (ready < 0 && errno == EINTR) continue;
    char c = 0;
    if (ready <= 0) return {};
    if (::read(STDIN_FILENO, &c, 1) <= 0) return line;  // a line may end without its newline
    if (c == '\n') return line;
    if (line.size() < 16) line += c;
  }
}

}  // namespace

std::string told_changes(const QuotaChanges& changes) {
  std::string out;
  for (const AcctTold& told : changes.told) {
    out += " " + told.title + "\n";
    for (const std::string& name : told.names) out += "  " + base::printable(name) + "\n";
  }
  return out;
}

std::string told_nothing(const QuotaChanges& changes) {
  const std::string verb = changes.told.empty() ? "add" : changes.told.front().verb;
  return verb == "add" ? " Nothing new added.\n" : verb == "modify" ? " Nothing modified\n" : " Nothing deleted\n";
}

bool is_confirmed() {
  if (printed(fmt::format("Would you like to commit changes? (You have {} seconds to decide)\n(N/y): ",
                          kSecondsToDecide)) != client::kExitOk)
    return false;
  const std::string said = answer();
  return !said.empty() && (said.front() == 'y' || said.front() == 'Y');
}

}  // namespace gw::cmds
