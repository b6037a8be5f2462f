// What a call of the agent leaves to be done.
// Invariant: what stands in it is carried out in its order.
#pragma once

#include <string>
#include <utility>

#include "noded/core/effects.h"
#include "noded/core/run.h"

namespace gw::noded {

class Outbox {
 public:
  void add(Effect effect) { effects_.push_back(std::move(effect)); }
  /// A line for the log.
  void say(Level level, std::string text) { add(Say{level, std::move(text)}); }
  /// Nothing, while the shepherd is out of touch.
  void tell_shepherd(const Run& run, wire::ToShepherd message) {
    if (run.is_connected) add(ToShepherd{run.key, std::move(message)});
  }
  /// All of it.
  Effects take() { return std::exchange(effects_, {}); }

 private:
  Effects effects_;
};

}  // namespace gw::noded
