// Reading.
#include "attach/local/source.h"

#include <unistd.h>

#include <cerrno>
#include <vector>

namespace gw::attach {
namespace {

constexpr size_t kPiece = 64 << 10;
constexpr base::Duration kLookAgain = base::milliseconds(500);

}  // namespace

Source::Source(io::Loop& loop, Descriptor from, std::function<void(std::string_view)> on_piece)
    : loop_(loop), from_(std::move(from)), piece_fn_(std::move(on_piece)) {}

bool Source::is_in_background() const {
  if (!from_.is_terminal()) return false;
  const pid_t owner = ::tcgetpgrp(from_.fd());
  return owner > 0 && owner != ::getpgrp();
}

void Source::want() {
  if (is_wanted_) return;
  is_wanted_ = true;
  if (from_.can_wait())
    watch_ = loop_.watch_readable(from_.fd(), [this] { read(); });
  else
    timer_ = loop_.after({}, [this] { read(); });
}

void Source::look_again() {
  if (!is_wanted_ || !timer_.is_active()) return;
  timer_.cancel();
  watch_.resume();
}

// SIGTTIN is ignored by the program: a terminal that was taken away meanwhile gives EIO.
void Source::read() {
  std::vector<char> piece(kPiece);
  ssize_t n = -1;
  if (!is_in_background()) {
    n = from_.read(piece.data(), piece.size());
    if (n < 0 && errno == EAGAIN) return;
  }
  if (n < 0 && is_in_background()) {
    watch_.pause();
    timer_ = loop_.after(kLookAgain, [this] { watch_.resume(); });
    return;
  }
  is_wanted_ = false;
  watch_.cancel();
  piece_fn_({piece.data(), n > 0 ? static_cast<size_t>(n) : 0});
}

}  // namespace gw::attach
