// Names, versions and messages of the commands.
#include "client/conn/program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "base/text.h"
#include "model/sentences.h"

namespace gw::client {
namespace {

void write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    text.remove_prefix(static_cast<size_t>(n));
  }
}

}  // namespace

Program program_from(std::string_view argv0) {
  const size_t slash = argv0.rfind('/');
  if (slash != std::string_view::npos) argv0.remove_prefix(slash + 1);
  return {std::string(argv0), !argv0.empty() && argv0.front() == 's'};
}

void hold_standard_streams() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(fd, F_GETFD) >= 0 || errno != EBADF) continue;
    const int opened = ::open("/dev/null", fd == STDERR_FILENO ? O_WRONLY : O_RDONLY);
    if (opened >= 0 && opened != fd) ::close(opened);  // one below is closed too: it cannot be opened
  }
}

// Clients pick their behaviour by this number: 23.11 is the oldest release whose JSON has list-valued states and for
// which PRRTE passes --external-launcher, both of which Gangway follows; a newer number would promise options that are
// not there.
std::string version_line(const Program& program) {
  const std::string own = std::string("gangway ") + GANGWAY_VERSION;
  return program.is_slurm ? "slurm " + std::string(kSlurmVersion) + " (" + own + ")" : own;
}

/// Several faults are lines of one text.
void print_error(const Program& program, std::string_view text) {
  for (const auto& line : base::split(text, '\n'))
    write_all(STDERR_FILENO, fmt::format("{}: error: {}\n", program.name, line));
}
std::string said(const Program& program, const base::Error& error) {
  if (!program.is_slurm) return error.what;
  const bool is_denied = error.code == base::ErrorCode::kDenied && error.sentence.empty();
  const std::string sentence = is_denied ? model::kDeniedSentence : error.sentence;
  return sentence.empty() ? error.what : sentence + ": " + error.what;
}
void print_error(const Program& program, const base::Error& error) {
  print_error(program, base::Error{error.code, said(program, error), error.hint}.text());
}
void print_note(const Program& program, std::string_view text) {
  write_all(STDERR_FILENO, fmt::format("{}: {}\n", program.name, text));
}

void print_debug(const Program& program, std::string_view text) {
  if (program.verbose > 1) print_note(program, fmt::format("debug:  {}", text));
}

bool print_out(std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(STDOUT_FILENO, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    text.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

size_t terminal_columns(int fd, size_t otherwise) {
  winsize size = {};
  return ::ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 ? otherwise : size.ws_col;
}

bool use_colour(int fd) {
  const char* no_colour = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  if (no_colour != nullptr && *no_colour != '\0') return false;
  if (term == nullptr || std::string_view(term) == "dumb") return false;
  return ::isatty(fd) == 1;
}

}  // namespace gw::client
