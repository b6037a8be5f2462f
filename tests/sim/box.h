// What all parts of the cluster in a box share: simulated time with what is to happen at which moment, chance, the
// trace, and how a broken promise ends the run. Invariants: what happens at the same moment happens in the order in
// which it was planned; nothing looks at a real clock; the same seed gives the same run.
#pragma once

#include <fmt/format.h>

#include <deque>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "base/boot_time.h"
#include "base/time.h"
#include "tests/sim/random.h"

namespace gw::sim_cluster {

using base::Duration;
using base::Time;

/// A checker found that a promise does not hold.
struct Broken {
  std::string checker, what;
};
[[noreturn]] inline void fail(const std::string& checker, std::string what) { throw Broken{checker, std::move(what)}; }

/// What happened, a line each; kept only if somebody wants it.
class Trace {
 public:
  enum class Mode { kOff, kLast, kPrint };
  explicit Trace(Mode mode) : mode_(mode) {}
  template <typename... Args>
  void say(Time now, fmt::format_string<Args...> text, Args&&... args) {
    if (mode_ != Mode::kOff) add(now, fmt::format(text, std::forward<Args>(args)...));
  }
  bool is_on() const { return mode_ != Mode::kOff; }
  const std::deque<std::string>& lines() const { return lines_; }

 private:
  void add(Time now, const std::string& text);

  Mode mode_;
  std::deque<std::string> lines_;
};

class Agenda {
 public:
  Time now() const { return now_; }
  void after(Duration delay, std::function<void()> fn) {
    things_.emplace(std::pair(now_ + delay, ++last_), std::move(fn));
  }
  /// Does what is due next, if that is not after `end`. False: there is nothing.
  bool step(Time end);

 private:
  static constexpr Time kStart{1'000'000'000'000};
  Time now_ = kStart;
  uint64_t last_ = 0;
  std::map<std::pair<Time, uint64_t>, std::function<void()>> things_;
};

struct Box {
  Agenda agenda;
  Random random;
  Trace& trace;
  bool has_faults = true;  ///< Things go wrong: until the cluster is to come to rest.

  Time now() const { return agenda.now(); }
  /// Of the controller's machine: what leases count by.
  base::BootTime boot_time() const { return {now().us - 700'000'000}; }
  /// Of most things; now and then far longer, while things go wrong.
  Duration delay(int64_t least_us, int64_t most_us) {
    const Duration usual = random.between(Duration{least_us}, Duration{most_us});
    return has_faults && random.chance(2) ? usual * random.between(5, 100) : usual;
  }
};

}  // namespace gw::sim_cluster
