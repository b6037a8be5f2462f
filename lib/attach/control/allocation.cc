// Waiting for an allocation.
#include "attach/control/allocation.h"

#include <fmt/format.h>

#include <utility>

#include "base/text.h"
#include "client/show/job_view.h"
#include "model/job_state.h"
#include "model/sentences.h"

namespace gw::attach {
namespace {

constexpr base::Duration kLook = base::seconds(1);
constexpr size_t kLongestNotice = 1000;
constexpr base::Duration kEndLook = base::milliseconds(100);
constexpr base::Duration kEndLimit = base::seconds(3);

/// As programs look for it.
base::Error unable(const base::Error& e) {
  return {e.code, "Unable to allocate resources: " + (e.sentence.empty() ? "" : e.sentence + ": ") + e.what, e.hint};
}

}  // namespace

std::string end_text(const wire::Job& job) {
  const std::string detail = client::reason_detail(job);
  return fmt::format("job {} ended {}{}{}", job.id(), model::long_name(client::state_of(job)),
                     detail.empty() ? "" : ": ", base::printable(detail, 1000));
}

void Allocation::request(wire::SubmitRequest submit, StartedFn fn) {
  started_fn_ = std::move(fn);
  further_ = static_cast<uint32_t>(submit.components_size());
  wire::ApiRequest request;
  *request.mutable_submit() = std::move(submit);
  is_asked_ = true;
  line_.call(std::move(request), [this](base::Result<wire::ApiReply> reply) {
    is_asked_ = false;
    const io::Callback cancelled = std::exchange(cancelled_fn_, {});
    if (!reply && cancelled) return cancelled();
    if (!reply) return finish(tl::unexpected(unable(reply.error())));
    for (const std::string& warning : reply->submit().warnings()) note("warning: " + warning);
    job_ = reply->submit().job_id();
    cancelled ? cancel(cancelled) : wait_for_start();
  });
}

void Allocation::wait_for_start() {
  if (limit_)
    limit_timer_ = loop_.after(*limit_, [this] {
      is_too_late_ = true;
      cancel([this] {
        finish(tl::unexpected(unable({base::ErrorCode::kUnavailable,
                                      fmt::format("job {} did not start in time", job_),
                                      {},
                                      model::kImmediateSentence})));
      });
    });
  look_timer_ = loop_.after(kLook, [this] { look(); });
  ask_for_start();
}

void Allocation::ask_for_start() {
  wire::ApiRequest request;
  wire::WaitJobRequest& wait = *request.mutable_wait_job();
  wait.set_id(job_);
  wait.set_until_started(true);
  wait.set_attend(is_attended_);
  wait.set_notices(static_cast<bool>(message_fn_));
  line_.call(request, [this](base::Result<wire::ApiReply> reply) {
    if (tells_notice(reply)) return ask_for_start();
    on_started(std::move(reply));
  });
}

bool Allocation::tells_notice(const base::Result<wire::ApiReply>& reply) const {
  if (!reply || reply->wait_job().notice().empty()) return false;
  message_fn_(base::printable(reply->wait_job().notice(), kLongestNotice));
  return true;
}

void Allocation::look() {
  wire::ApiRequest request;
  request.mutable_show_job()->set_id(job_);
  queries_.call(std::move(request), [this](base::Result<wire::ApiReply> reply) {
    if (!started_fn_) return;
    if (reply) tell_reason(reply->show_job().job());
    look_timer_ = loop_.after(kLook, [this] { look(); });
  });
}

void Allocation::tell_reason(const wire::Job& job) {
  if (client::state_of(job) != model::JobState::kPending) return;
  const std::string reason = client::reason_word(job);
  if (last_reason_ == reason) return;
  if (!last_reason_ && pending_fn_) pending_fn_();
  const std::string detail = client::reason_detail(job);
  note(fmt::format("job {} {}waiting for resources: {}{}{}", job_, last_reason_ ? "" : "queued and ", reason,
                   detail.empty() ? "" : ": ", base::printable(detail, 500)));
  last_reason_ = reason;
}

void Allocation::on_started(base::Result<wire::ApiReply> reply) {
  if (is_too_late_) return;  // the answer to the cancel ends it
  limit_timer_.cancel();
  if (!reply) return finish(base::pass(reply));
  wire::Job job = std::move(*reply->mutable_wait_job()->mutable_job());
  if (model::is_end(client::state_of(job)))
    return finish(base::fail(base::ErrorCode::kConflict, end_text(job) + " before it ran"));
  if (last_reason_) note(fmt::format("job {} has been allocated resources", job_));
  if (further_ == 0) return finish(std::move(job));
  components_.push_back(std::move(job));
  find_components();
}

/// Asks for what each of the others has got, one after another.
void Allocation::find_components() {
  if (components_.size() > further_) return finish(components_.front());
  wire::ApiRequest request;
  request.mutable_show_job()->set_id(job_ + static_cast<uint32_t>(components_.size()));
  queries_.call(std::move(request), [this](base::Result<wire::ApiReply> reply) {
    if (!reply) return cancel([this, error = reply.error()] { finish(tl::unexpected(error)); });
    components_.push_back(std::move(*reply->mutable_show_job()->mutable_job()));
    find_components();
  });
}

void Allocation::finish(base::Result<wire::Job> result) {
  look_timer_.cancel();
  limit_timer_.cancel();
  if (const auto fn = std::exchange(started_fn_, {})) fn(std::move(result));
}

void Allocation::watch(EndedFn fn) {
  wire::ApiRequest request;
  request.mutable_wait_job()->set_id(job_);
  request.mutable_wait_job()->set_attend(is_attended_);
  request.mutable_wait_job()->set_notices(static_cast<bool>(message_fn_));
  line_.call(std::move(request), [this, fn = std::move(fn)](base::Result<wire::ApiReply> reply) {
    if (tells_notice(reply)) return watch(fn);
    if (reply) return fn(reply->wait_job().job());
    // The controller is away for longer than a command has patience: the job runs on, and is attended when it is back.
    const base::ErrorCode code = reply.error().code;
    if (code == base::ErrorCode::kUnavailable || code == base::ErrorCode::kTimeout)
      watch_timer_ = loop_.after(kLook, [this, fn] { watch(fn); });
  });
}

void Allocation::cancel(io::Callback fn) {
  if (is_asked_) {
    cancelled_fn_ = std::move(fn);
    return;
  }
  wire::ApiRequest request;
  request.mutable_cancel()->mutable_filter()->add_ids(job_);
  queries_.call(std::move(request), [fn = std::move(fn)](const base::Result<wire::ApiReply>&) { fn(); });
}

void EndOfJob::ask(uint32_t job, bool is_lost, std::function<void(const std::string& text)> fn) {
  job_ = job;
  is_lost_ = is_lost;
  fn_ = std::move(fn);
  limit_ = loop_.after(kEndLimit, [this] { answer({}); });
  look();
}

void EndOfJob::look() {
  wire::ApiRequest request;
  request.mutable_show_job()->set_id(job_);
  queries_.call(std::move(request), [this](base::Result<wire::ApiReply> reply) {
    if (!fn_) return;
    reply ? on_job(reply->show_job().job()) : answer({});
  });
}

void EndOfJob::on_job(const wire::Job& job) {
  using model::JobState;
  const JobState state = client::state_of(job);
  if (state == JobState::kCompleting) {
    again_ = loop_.after(kEndLook, [this] { look(); });
    return;
  }
  const bool is_by_itself = state == JobState::kCompleted || (state == JobState::kFailed && !is_lost_);
  answer(model::is_end(state) && !is_by_itself ? end_text(job) : std::string());
}

void EndOfJob::answer(const std::string& text) {
  limit_.cancel();
  again_.cancel();
  if (const auto fn = std::exchange(fn_, {})) fn(text);
}

}  // namespace gw::attach
