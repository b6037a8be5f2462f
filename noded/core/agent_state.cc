// The node agent: which state the controller works from. The node remembers the newest mark that it was told, says so
// when it registers, and marks each run with the state that placed it; what that means the controller judges.
// Invariant: runs of two states may have the same number; no order of one controller touches a run of another state but
// by an administrator's word, which comes as Stop.
#include <algorithm>

#include "noded/core/agent.h"

namespace gw::noded {

namespace {

// A reboot forgets what was told since; the runs that came meanwhile are dead then.
constexpr base::Duration kKeepEvery = base::seconds(60);

}  // namespace

void NodeAgent::recover_mark(const wire::RunRecord& record) {
  const wire::StateMark& mark = record.placed_in();
  if (seen_.root().empty()) seen_ = mark;
  if (mark.incarnation() == seen_.incarnation() && mark.commit() > seen_.commit()) seen_.set_commit(mark.commit());
}

void NodeAgent::hear_mark(base::Time now, const wire::ControllerToNode& message) {
  bool is_other = false;
  if (message.has_registered() && message.registered().has_mark()) {
    const wire::StateMark& mark = message.registered().mark();
    is_other = mark.root() != seen_.root() || mark.incarnation() != seen_.incarnation();
    if (is_other) seen_ = mark;
  }
  if (message.has_registered() && message.registered().is_behind()) {
    say(Level::kWarn, "the controller's state is another one, or older than what this node knows");
    job_graves_.clear();
    step_graves_.clear();
  }
  if (seen_.root().empty()) return;
  const bool is_new = message.commit() > seen_.commit() || message.next_job() > seen_.next_job();
  seen_.set_commit(std::max<uint64_t>(seen_.commit(), message.commit()));
  seen_.set_next_job(std::max<uint32_t>(seen_.next_job(), message.next_job()));
  if (!is_other && (!is_new || now - mark_kept_ < kKeepEvery)) return;
  mark_kept_ = now;
  out_.emplace_back(KeepMark{seen_});
}

bool NodeAgent::is_of_another_state(const Run& run, const wire::StateMark& placed_in) const {
  const std::string& root = run.record.placed_in().root();
  return !root.empty() && !placed_in.root().empty() && root != placed_in.root();
}

/// True: a run of another state has the job's number, and was not touched.
bool NodeAgent::refuse_beside_foreign(base::Time now, const wire::Prepare& message) {
  for (const auto& [key, run] : runs_) {
    if (key.job != message.job() || !is_of_another_state(run, message.placed_in())) continue;
    wire::PrepareFailed failure;
    failure.set_job(message.job());
    failure.set_attempt(message.attempt());
    failure.set_reason(static_cast<uint32_t>(model::EndReason::kLaunchFailed));
    failure.set_detail("run " + key.text() + " of another state of the controller is here");
    failure.set_node_fault(true);
    send_failure(now, failure);
    return true;
  }
  return false;
}

}  // namespace gw::noded
