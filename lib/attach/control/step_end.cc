// Waiting until the controller has no such step any more, then the line of the job's history that tells its end.
#include "attach/control/step_end.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "model/step.h"

namespace gw::attach {
namespace {

constexpr base::Duration kFirstPause = base::milliseconds(25);
constexpr base::Duration kLongestPause = base::seconds(1);
constexpr int kSignalBase = 128;

int code_of(const model::ExitStatus& exit) { return exit.signo != 0 ? kSignalBase + exit.signo : exit.code; }

}  // namespace

int code_of(const wire::Step& step) { return code_of(model::ExitStatus{step.exit_code(), step.exit_signo()}); }

void EndOfStep::find(wire::TicketRequest ticket, const wire::Step& seen, FoundFn fn) {
  ticket_ = std::move(ticket);
  seen_ = seen;
  fn_ = std::move(fn);
  end_.code = code_of(seen);
  pause_ = kFirstPause;
  limit_timer_ = loop_.after(limit_, [this] { answer(); });
  look();
}

void EndOfStep::look() {
  wire::ApiRequest request;
  *request.mutable_ticket() = ticket_;
  ask_(std::move(request), [this](const base::Result<wire::ApiReply>& reply) {
    if (fn_) on_ticket(reply);
  });
}

void EndOfStep::on_ticket(const base::Result<wire::ApiReply>& reply) {
  using base::ErrorCode;
  if (!reply) {
    const bool is_away = reply.error().code == ErrorCode::kUnavailable || reply.error().code == ErrorCode::kTimeout;
    return is_away ? answer() : read_history();
  }
  // Another attempt of the job may have a step of this number.
  const wire::Step& now = reply->step().step();
  if (now.attempt() != seen_.attempt()) return read_history();
  end_.code = std::max(end_.code, code_of(now));
  again_ = loop_.after(pause_, [this] { look(); });
  pause_ = std::min(kLongestPause, pause_ + pause_);
}

void EndOfStep::read_history() {
  wire::ApiRequest request;
  request.mutable_show_job()->set_id(ticket_.job_id());
  request.mutable_show_job()->set_history(true);
  ask_(std::move(request), [this](const base::Result<wire::ApiReply>& reply) {
    if (!fn_) return;
    reply ? on_history(reply->show_job()) : answer();
  });
}

/// The first of its name that ended after this one began.
void EndOfStep::on_history(const wire::ShowJobReply& shown) {
  const std::string name = fmt::format("{}.{}", ticket_.job_id(), ticket_.step());
  int64_t first_us = INT64_MAX;
  for (const wire::HistoryEvent& event : shown.history()) {
    if (event.kind() != model::kStepEnded || event.time_us() < seen_.created_us() || event.time_us() >= first_us)
      continue;
    const auto exit = model::exit_in(event.text(), name);
    if (!exit) continue;
    first_us = event.time_us();
    end_ = {std::max(code_of(seen_), code_of(*exit)), true};
  }
  answer();
}

void EndOfStep::answer() {
  limit_timer_.cancel();
  again_.cancel();
  if (const auto fn = std::exchange(fn_, {})) fn(end_);
}

}  // namespace gw::attach
