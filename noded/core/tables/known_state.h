// Which state the controller works from: the newest mark that this node was told. The node says it when it registers,
// and marks each run with the state that placed it; what that means the controller judges.
// Invariants: the count of commits grows, but for another state; what is to be kept on disk is told at most once in
// kKeepEvery, but for another state, which is kept at once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "base/time.h"
#include "wire/node.pb.h"
#include "wire/step.pb.h"

namespace gw::noded {

class KnownState {
 public:
  // A reboot forgets what was told since; the runs that came meanwhile are dead then.
  static constexpr base::Duration kKeepEvery = base::seconds(60);

  explicit KnownState(wire::StateMark seen) : seen_(std::move(seen)) {}

  const wire::StateMark& seen() const { return seen_; }
  /// By which two states differ; empty: none is known.
  const std::string& root() const { return seen_.root(); }

  /// A run of an earlier daemon was placed in this state.
  void recover(const wire::StateMark& mark) {
    if (seen_.root().empty()) seen_ = mark;
    if (mark.incarnation() == seen_.incarnation() && mark.commit() > seen_.commit()) seen_.set_commit(mark.commit());
  }

  /// True: what is seen now is to be kept on disk.
  bool hear(base::Time now, const wire::ControllerToNode& message) {
    const bool is_other = message.has_registered() && message.registered().has_mark() && is_news(message.registered());
    if (is_other) seen_ = message.registered().mark();
    if (seen_.root().empty()) return false;
    const bool is_new = message.commit() > seen_.commit() || message.next_job() > seen_.next_job();
    seen_.set_commit(std::max<uint64_t>(seen_.commit(), message.commit()));
    seen_.set_next_job(std::max<uint32_t>(seen_.next_job(), message.next_job()));
    if (!is_other && (!is_new || now - kept_at_ < kKeepEvery)) return false;
    kept_at_ = now;
    return true;
  }

 private:
  bool is_news(const wire::Registered& registered) const {
    return registered.mark().root() != seen_.root() || registered.mark().incarnation() != seen_.incarnation();
  }

  wire::StateMark seen_;
  base::Time kept_at_;
};

}  // namespace gw::noded
