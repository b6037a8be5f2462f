// See reports.h.
#include "noded/core/reports.h"

#include <utility>

#include "noded/core/link.h"

namespace gw::noded {

namespace {

constexpr base::Duration kResend = base::seconds(5);

bool awaits_ack(const Run& run) {
  if (run.stage == Stage::kClean) return true;
  return run.exit && !run.reports.is_exit_acked && !run.fails_prepare() && run.reports.at.us != 0;
}

}  // namespace

void report_prepared(Core& core, const Run& run) {
  const bool is_ready = run.stage == Stage::kPrepared || run.stage == Stage::kStarted;
  if (run.key.is_step() && (!is_ready || run.access.address.empty())) return;
  wire::NodeToController message;
  message.mutable_prepared()->set_job(run.key.job);
  message.mutable_prepared()->set_attempt(run.key.attempt);
  message.mutable_prepared()->set_step(run.key.step);
  message.mutable_prepared()->set_address(run.access.address);
  message.mutable_prepared()->set_key(run.access.key);
  send(core, std::move(message));
}

void report_started(Core& core, const Run& run) {
  // A script has a start, and an allocation without one that goes as soon as it is held. Steps have none.
  if (run.key.is_step() || !(run.has_shepherd() || run.record.alone())) return;
  wire::NodeToController message;
  message.mutable_started()->set_job(run.key.job);
  message.mutable_started()->set_attempt(run.key.attempt);
  message.mutable_started()->set_at_us(run.started_at_us);
  send(core, std::move(message));
}

void repeat_prepare(Core& core, const Run& run) {
  if (run.stop.is_asked || run.exit) return;
  if (run.key.is_step()) return report_prepared(core, run);
  if (run.stage == Stage::kPrepared) report_prepared(core, run);
  if (run.stage == Stage::kStarted) report_started(core, run);
}

wire::PrepareFailed make_failure(RunKey key, uint32_t reason, const std::string& detail, bool node_fault) {
  wire::PrepareFailed failure;
  failure.set_job(key.job);
  failure.set_attempt(key.attempt);
  failure.set_step(key.step);
  failure.set_reason(reason);
  failure.set_detail(detail);
  failure.set_node_fault(node_fault);
  return failure;
}

wire::PrepareFailed make_refusal(RunKey key, const std::string& detail, bool node_fault) {
  return make_failure(key, static_cast<uint32_t>(model::EndReason::kLaunchFailed), detail, node_fault);
}

void send_failure(Core& core, const wire::PrepareFailed& failure) {
  wire::NodeToController message;
  *message.mutable_prepare_failed() = failure;
  send(core, std::move(message));
}

void repeat_failure(Core& core, const Tombstone& grave, RunKey key) {
  if (grave.attempt == key.attempt && grave.failure) send_failure(core, *grave.failure);
}

void report_exit(Core& core, Run& run) {
  if (!run.exit || run.reports.is_exit_acked || run.fails_prepare()) return;
  // A start that the controller called off is answered by Done alone.
  if (run.exit->never_started() && run.stop.is_asked) return;
  run.reports.at = core.now;
  if (core.link.is_registered()) run.reports.exit_link = core.link.number();
  wire::NodeToController message;
  wire::BatchExited& b = *message.mutable_batch_exited();
  b.set_job(run.key.job);
  b.set_attempt(run.key.attempt);
  b.set_step(run.key.step);
  b.set_exit_code(run.exit->code());
  b.set_exit_signo(run.exit->signo());
  b.set_oom(run.exit->oom());
  b.set_peak_mem_mb(run.exit->peak_mem_mb());
  b.set_limit_mem_mb(run.exit->limit_mem_mb());
  b.set_reason(run.exit->reason());
  b.set_detail(run.exit->detail());
  b.set_ended_us(run.exit->ended_us());
  send(core, std::move(message));
}

void report_done(Core& core, Run& run) {
  // The exit comes before Done; what went over this link arrives, or the link breaks.
  if (run.reports.exit_link != core.link.number()) report_exit(core, run);
  run.reports.at = core.now;
  wire::NodeToController message;
  *message.mutable_done() = run.done;
  send(core, std::move(message));
}

void repeat_end(Core& core, Run& run) {
  run.reports.exit_link = 0;
  if (run.stage == Stage::kClean) return report_done(core, run);
  report_exit(core, run);
}

base::Time next_report(const Run& run) { return awaits_ack(run) ? run.reports.at + kResend : base::Time::never(); }

}  // namespace gw::noded
