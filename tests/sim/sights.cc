// What was seen. See sights.h.
#include "tests/sim/sights.h"

#include "model/job_state.h"

namespace gw::sim_cluster {
namespace {

/// Changes that were taken.
std::string change_text(const wire::ApiRequest& r) {
  if (r.has_submit()) return r.submit().components_size() > 0 ? "heterogeneous job" : "job";
  if (r.has_cancel()) return r.cancel().signo() == 0 ? "cancelled" : "signalled";
  if (r.has_job_action()) {
    constexpr const char* kActions[] = {"",
                                        "held",
                                        "released",
                                        "requeued",
                                        "requeued and held",
                                        "held by the owner",
                                        "suspended by an administrator",
                                        "resumed by an administrator"};
    return kActions[r.job_action().action()];
  }
  if (r.has_update_job()) return "job updated";
  if (r.has_update_node()) return r.update_node().dead() ? "node said to be dead" : "node updated";
  if (r.has_change_quotas()) return "quotas changed";
  if (r.has_create_reservation()) return "reservation made";
  if (r.has_update_reservation()) return "reservation changed";
  if (r.has_delete_reservation()) return "reservation deleted";
  if (r.has_create_partition()) return "partition made";
  if (r.has_update_partition()) return "partition changed";
  if (r.has_delete_partition()) return "partition deleted";
  if (r.has_reconfigure()) return "configuration read again";
  if (r.has_checkpointed()) return "checkpointed";
  if (r.has_progress()) return "progress told";
  if (r.has_create_step()) return "step made";
  if (r.has_signal_step()) return "step signalled";
  if (r.has_end_allocation()) return "allocation ended";
  return {};
}

}  // namespace

std::vector<std::string> expected_sights() {
  return {"Prepare of a gang",
          "Prepare of a node that joins a gang",
          "Prepare of a part of a GPU",
          "Stop of a preempted one",
          "Suspend",
          "Suspend of a preempted one",
          "Suspend by the right of an order",
          "Resume",
          "is suspended",
          "cannot be frozen",
          "ended by its lease",
          "launch failed",
          "prolog failed",
          "epilog failed",
          "prolog of the controller failed",
          "prolog of the controller could not be run",
          "epilog of the controller",
          "script begins",
          "step begins",
          "second attempt begins",
          "ended at its limit",
          "missed its deadline",
          "ended since its node was lost",
          "start of the controller",
          "heterogeneous job",
          "job",
          "cancelled",
          "signalled",
          "held",
          "released",
          "requeued",
          "requeued and held",
          "held by the owner",
          "suspended by an administrator",
          "resumed by an administrator",
          "job updated",
          "node said to be dead",
          "node updated",
          "quotas changed",
          "reservation made",
          "reservation changed",
          "reservation deleted",
          "partition made",
          "partition changed",
          "partition deleted",
          "configuration read again",
          "checkpointed",
          "progress told",
          "step made",
          "step signalled",
          "allocation ended",
          "asked again and answered as before",
          "kept by a spent budget"};
}

void SightChecker::on_sent(const std::string&, const wire::ControllerToNode& message) {
  if (message.has_prepare()) {
    const wire::Prepare& prepare = message.prepare();
    if (prepare.gang().node_count() > 1) ++seen_["Prepare of a gang"];
    if (prepare.generation() > 0) ++seen_["Prepare of a node that joins a gang"];
    if (prepare.share().has_gpu_milli()) ++seen_["Prepare of a part of a GPU"];
  }
  if (message.has_stop() && message.stop().preempted_for() != 0) ++seen_["Stop of a preempted one"];
  if (message.has_suspend()) {
    const wire::Suspend& suspend = message.suspend();
    ++seen_[suspend.preempted_for() == 0  ? "Suspend"
            : suspend.preempt_rule() == 0 ? "Suspend by the right of an order"
                                          : "Suspend of a preempted one"];
  }
  if (message.has_resume()) ++seen_["Resume"];
}

void SightChecker::on_node_said(const Machine&, const wire::NodeToController& message) {
  if (message.has_suspended()) ++seen_[message.suspended().problem().empty() ? "is suspended" : "cannot be frozen"];
  if (message.has_prepare_failed())
    ++seen_[message.prepare_failed().reason() == static_cast<uint32_t>(model::EndReason::kPrologFailed)
                ? "prolog failed"
                : "launch failed"];
  if (message.has_unfit() && !message.unfit().by_prolog()) ++seen_["epilog failed"];
  if (message.has_done() && message.done().lease_expired()) ++seen_["ended by its lease"];
  if (message.has_batch_exited() &&
      message.batch_exited().reason() == static_cast<uint32_t>(model::EndReason::kLeaseExpired))
    ++seen_["ended by its lease"];
}

void SightChecker::on_program_ended(const ctld::RunJobProgram& asked, const ctld::ProgramEnd& end) {
  if (asked.program == model::JobProgram::kEpilog) ++seen_["epilog of the controller"];
  if (asked.program != model::JobProgram::kProlog || (end.run == ctld::ProgramRun::kRan && end.exit_code == 0)) return;
  ++seen_[end.run == ctld::ProgramRun::kRan ? "prolog of the controller failed"
                                            : "prolog of the controller could not be run"];
}

void SightChecker::on_begun(const std::string&, RunKey run) {
  ++seen_[run.is_step() ? "step begins" : "script begins"];
  if (run.attempt > 1) ++seen_["second attempt begins"];
}

void SightChecker::on_answer(const Asked& asked, const wire::ApiReply& reply) {
  if (reply.has_error()) return;
  if (reply.has_jobs() && reply.jobs().done_size() == 0) return;
  const std::string text = change_text(asked.request);
  if (text.empty()) return;
  ++seen_[text];
  if (asked.times > 1) ++seen_["asked again and answered as before"];
}

void SightChecker::on_loaded(const store::Snapshot& snapshot) {
  ++seen_["start of the controller"];
  for (const store::JobRow& row : snapshot.jobs) {
    wire::JobStatus status;
    if (status.ParseFromString(row.status) &&
        status.waiting().reason() == static_cast<uint32_t>(model::WaitReason::kBudgetSpent))
      ++seen_["kept by a spent budget"];
  }
  for (const store::JobRow& row : snapshot.recently_ended) {
    const auto state = static_cast<model::JobState>(row.state);
    if (state == model::JobState::kTimeout) ++seen_["ended at its limit"];
    if (state == model::JobState::kDeadline) ++seen_["missed its deadline"];
    if (state == model::JobState::kNodeFail) ++seen_["ended since its node was lost"];
  }
}

}  // namespace gw::sim_cluster
