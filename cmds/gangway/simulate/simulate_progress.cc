// See simulate_progress.h.
#include "cmds/gangway/simulate/simulate_progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <utility>

#include "sim/expect.h"

namespace gw::cmds {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kBetween = std::chrono::milliseconds(200);  // a short run shows nothing

}  // namespace

struct ProgressLine::State {
  std::string title;
  Clock::time_point next = Clock::now() + kBetween;
  bool is_shown = false;

  void show(uint64_t left, uint64_t jobs, sim::Time now) {
    const auto present = Clock::now();
    if (present < next) return;
    next = present + kBetween;
    is_shown = true;
    const uint64_t part = jobs == 0 ? 100 : 100 * left / jobs;
    const std::string clock = sim::format_offset(now - sim::kStart);
    (void)std::fputs(
        fmt::format("\r\033[K{}{} of {} jobs done ({} %), after {}", title, left, jobs, part, clock).c_str(), stderr);
    (void)std::fflush(stderr);
  }
  void clear() {
    if (std::exchange(is_shown, false)) (void)std::fputs("\r\033[K", stderr);
  }
};

ProgressLine::ProgressLine(std::string title) {
  if (isatty(STDERR_FILENO) == 1) state_ = std::make_shared<State>(State{std::move(title)});
}

ProgressLine::~ProgressLine() { clear(); }

std::function<void(uint64_t, uint64_t, sim::Time)> ProgressLine::teller() const {
  if (!state_) return {};
  return [state = state_](uint64_t left, uint64_t jobs, sim::Time now) { state->show(left, jobs, now); };
}

void ProgressLine::clear() const {
  if (state_) state_->clear();
}

}  // namespace gw::cmds
