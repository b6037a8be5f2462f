// Ending and signalling steps.
#include "cmds/gcancel/step_cancel.h"

#include <fmt/format.h>

#include <set>
#include <utility>

#include "client/conn/program.h"

namespace gw::cmds {
namespace {

using client::Program;

base::Status cancel_one(client::Connection& connection, const StepId& step, int signo) {
  wire::ApiRequest request;
  if (step.number) {
    request.mutable_signal_step()->set_job_id(step.job);
    request.mutable_signal_step()->set_step(*step.number);
    request.mutable_signal_step()->set_signo(signo);
  } else {
    request.mutable_cancel()->mutable_filter()->add_ids(step.job);
    request.mutable_cancel()->set_signo(signo);
    request.mutable_cancel()->set_batch_only(true);
  }
  GW_TRY(reply, connection.call(std::move(request)));
  for (const wire::JobFault& fault : reply.cancel().faults())
    return base::fail(static_cast<base::ErrorCode>(fault.error().code()), fault.error().what(), fault.error().hint());
  return {};
}

void tell_error(const Program& program, const StepId& step, const base::Error& error, const CancelManner& manner,
                bool is_idle) {
  if (manner.quiet || (is_idle && !manner.verbose)) return;
  if (program.is_slurm)
    return client::print_error(program, fmt::format("Kill job error on job step id {}: {}", step.text(), error.what));
  const std::string text = fmt::format("step {}: {}", step.text(), error.text());
  if (!is_idle) return client::print_error(program, text);
  client::print_note(program, (manner.signo != 0 ? "nothing to signal: " : "nothing to cancel: ") + text);
}

}  // namespace

std::string what_was_done(int signo, std::string_view kind, const std::string& id) {
  return signo != 0 ? fmt::format("Signal {} to {} {}", signo, kind, id) : fmt::format("Terminating {} {}", kind, id);
}

bool is_nothing_to_do(const Program& program, base::ErrorCode code, bool is_signal) {
  if (code == base::ErrorCode::kNotFound) return program.is_slurm;
  return !is_signal && code == base::ErrorCode::kConflict;
}

base::Status check_steps(const std::vector<StepId>& steps, const CancelManner& manner) {
  for (const StepId& step : steps) {
    if (step.is_extern)
      return base::invalid(fmt::format("{} is the allocation, which runs nothing by itself", step.text()),
                           fmt::format("{} ends the job", step.job));
    if (!step.number && manner.signo == 0)
      return base::invalid(fmt::format("{}: a batch script cannot be ended apart from its job", step.text()),
                           fmt::format("{} ends the job; -s TERM {} signals the batch script", step.job, step.text()));
    if (step.number && manner.batch)
      return base::invalid(fmt::format("-b/--batch is about batch scripts: {} is a step", step.text()));
  }
  return {};
}

base::Result<std::vector<StepId>> steps_that_pass(client::Connection& connection, const std::vector<StepId>& steps,
                                                  wire::JobFilter filter) {
  std::set<uint32_t> ids;
  for (const StepId& step : steps) ids.insert(step.job);
  filter.mutable_ids()->Assign(ids.begin(), ids.end());
  wire::ApiRequest request;
  *request.mutable_list_jobs()->mutable_filter() = std::move(filter);
  GW_TRY(reply, connection.call(std::move(request)));
  ids.clear();
  for (const wire::Job& job : reply.list_jobs().jobs()) ids.insert(job.id());
  std::vector<StepId> passing;
  for (const StepId& step : steps)
    if (ids.contains(step.job)) passing.push_back(step);
  return passing;
}

int cancel_steps(const Program& program, client::Connection& connection, const std::vector<StepId>& steps,
                 const CancelManner& manner) {
  int code = client::kExitOk;
  const bool is_signal = manner.signo != 0;
  for (const StepId& step : steps) {
    const base::Status done = cancel_one(connection, step, manner.signo);
    if (done) {
      if (manner.verbose) client::print_note(program, what_was_done(manner.signo, "step", step.text()));
      continue;
    }
    const bool is_idle = is_nothing_to_do(program, done.error().code, is_signal);
    if (!is_idle) code = client::kExitFailed;
    tell_error(program, step, done.error(), manner, is_idle);
  }
  return code;
}

}  // namespace gw::cmds
