// The link to the controller: how far it is, and when something is due on it.
// Invariants: it is dialed only once the remains of an earlier boot are gone; after each failure the next try comes
// later, up to ten seconds or so, at a random moment, since a thousand nodes lose one controller at the same time; what
// a controller asks of our timers is kept within bounds.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/time.h"

namespace gw::noded {

class LinkState {
 public:
  explicit LinkState(uint64_t seed) : random_(seed) {}

  bool is_recovering() const { return state_ == State::kRecovering; }
  bool is_connecting() const { return state_ == State::kConnecting; }
  bool is_registering() const { return state_ == State::kRegistering; }
  bool is_registered() const { return state_ == State::kRegistered; }
  /// The controller can be heard.
  bool is_open() const { return is_registering() || is_registered(); }
  /// Grows with each registration.
  uint64_t number() const { return number_; }
  /// Of connecting, in a row.
  int failures() const { return failures_; }
  base::Duration heartbeat() const { return heartbeat_; }
  base::Duration silence(base::Time now) const { return now - last_heard_; }

  void dialed() { state_ = State::kConnecting; }
  void opened(base::Time now) {
    state_ = State::kRegistering;
    last_heard_ = now;
  }
  /// Anything at all.
  void heard(base::Time now) { last_heard_ = now; }
  void registered(base::Duration heartbeat, base::Duration timeout) {
    state_ = State::kRegistered;
    ++number_;
    failures_ = 0;
    heartbeat_ = std::clamp(heartbeat, kShortestBeat, kLongestBeat);
    timeout_ = std::clamp(timeout, heartbeat_ * 2, kLongestBeat * 2);
  }
  /// Register counts as one.
  void beat_sent(base::Time now) { last_beat_ = now; }
  /// It is down, and dialed again after `at_least`.
  void failed(base::Time now, base::Duration at_least) {
    state_ = State::kDown;
    const base::Duration step = kFirstRetry * (int64_t{1} << std::min(failures_, 8));
    const double jittered = static_cast<double>(std::min(step, kLongestRetry).us) * (0.5 + next_random() / 2);
    retry_at_ = now + std::max(base::microseconds(static_cast<int64_t>(jittered)), at_least);
    ++failures_;
  }

  base::Time dial_due() const { return state_ == State::kDown ? retry_at_ : base::Time::never(); }
  base::Time beat_due() const { return is_registered() ? last_beat_ + heartbeat_ : base::Time::never(); }
  /// When it counts as lost.
  base::Time silence_due() const {
    if (!is_open()) return base::Time::never();
    return last_heard_ + (is_registering() ? std::min(timeout_, kRegisterLimit) : timeout_);
  }
  base::Time next_due() const { return std::min({dial_due(), beat_due(), silence_due()}); }

 private:
  enum class State {
    kRecovering,  // runs of an earlier boot are still being cleaned up
    kDown,
    kConnecting,
    kRegistering,
    kRegistered,
  };
  static constexpr base::Duration kFirstRetry = base::milliseconds(100);
  static constexpr base::Duration kLongestRetry = base::seconds(10);
  static constexpr base::Duration kRegisterLimit = base::seconds(30);
  static constexpr base::Duration kShortestBeat = base::milliseconds(10);
  static constexpr base::Duration kLongestBeat = base::hours(1);

  double next_random() {  // splitmix64
    random_ += 0x9e3779b97f4a7c15;
    uint64_t z = random_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    z ^= z >> 31;
    return static_cast<double>(z >> 11) / static_cast<double>(uint64_t{1} << 53);
  }

  State state_ = State::kRecovering;
  uint64_t number_ = 0;
  int failures_ = 0;
  base::Time retry_at_ = base::Time::never();
  base::Time last_heard_;
  base::Time last_beat_;
  base::Duration heartbeat_ = base::seconds(10);
  base::Duration timeout_ = base::seconds(60);
  uint64_t random_;
};

}  // namespace gw::noded
