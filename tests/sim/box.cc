// Time and trace. See box.h.
#include "tests/sim/box.h"

#include <cstdio>

namespace gw::sim_cluster {

void Trace::add(Time now, const std::string& text) {
  constexpr size_t kMost = 150;
  const double seconds = static_cast<double>(now.us - 1'000'000'000'000) / 1e6;
  std::string line = fmt::format("{:10.4f}  {}", seconds, text);
  if (mode_ == Mode::kPrint) return static_cast<void>(std::puts(line.c_str()));
  lines_.push_back(std::move(line));
  if (lines_.size() > kMost) lines_.pop_front();
}

bool Agenda::step(Time end) {
  if (things_.empty() || things_.begin()->first.first > end) {
    now_ = std::max(now_, end);
    return false;
  }
  auto next = things_.extract(things_.begin());
  now_ = std::max(now_, next.key().first);
  next.mapped()();
  return true;
}

}  // namespace gw::sim_cluster
