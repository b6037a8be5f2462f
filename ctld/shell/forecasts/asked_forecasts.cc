// See asked_forecasts.h.
#include "ctld/shell/forecasts/asked_forecasts.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "ctld/core/tables/start_forecasts.h"

namespace gw::ctld {
namespace {

/// Everybody is looked at anew: its class may have been passed by without it.
sched::PassInput with_job(sched::PassInput input, const sched::PendingJob& job) {
  input.queue.push_back(job);  // it has a higher number than any job
  input.has_run_out = false;
  input.put_off.clear();
  input.passed.clear();
  input.limited.clear();
  input.next_change = base::Time::never();
  return input;
}

}  // namespace

void AskedForecasts::ask(Unforeseen question) {
  const auto is_of_user = [&question](const Unforeseen& other) { return other.uid == question.uid; };
  const auto rest = resting_.find(question.uid);
  const bool is_resting = rest != resting_.end() && io::Loop::monotonic() < rest->second;
  if (is_resting || waiting_.size() >= kMostAsked || std::any_of(waiting_.begin(), waiting_.end(), is_of_user))
    return sources_.answer(question.conn, std::move(question.reply));
  waiting_.push_back(std::move(question));
  if (waiting_.size() == 1) begin();
}

void AskedForecasts::forget(ConnId conn) {
  if (waiting_.size() < 2) return;  // the first is under way
  const auto is_its = [conn](const Unforeseen& other) { return other.conn == conn; };
  waiting_.erase(std::remove_if(waiting_.begin() + 1, waiting_.end(), is_its), waiting_.end());
}

void AskedForecasts::begin() {
  if (waiting_.empty()) return;
  const auto job = std::make_shared<const sched::PendingJob>(waiting_.front().job);
  scheduler_.inspect([this, alive = alive_, job](sched::ClusterView& view, base::Time now) -> std::function<void()> {
    std::shared_ptr<const sched::PassInput> input;
    if (view.queue().size() < kMostWaiting)  // of a longer one a part alone would start too early
      input = std::make_shared<const sched::PassInput>(with_job(sched::take_input(view, now, {}), *job));
    return [this, alive, input] {
      if (*alive) draw(input);
    };
  });
}

void AskedForecasts::draw(std::shared_ptr<const sched::PassInput> input) {
  if (input == nullptr) return finish(ForecastThread::Drawn{}, {}, {});
  const base::Time now = input->now;
  thread_.run(
      {std::move(input), sources_.known(), {waiting_.front().job.id}, bounds_.most, bounds_.longest},
      [this, now](const base::Result<ForecastThread::Drawn>& drawn, base::Duration took) { finish(drawn, now, took); });
}

void AskedForecasts::finish(const base::Result<ForecastThread::Drawn>& drawn, base::Time now, base::Duration took) {
  Unforeseen question = std::move(waiting_.front());
  waiting_.pop_front();
  const base::Duration clock = io::Loop::monotonic();
  std::erase_if(resting_, [clock](const auto& rest) { return rest.second <= clock; });
  resting_[question.uid] = clock + base::Duration{bounds_.rest * took.us};
  if (!drawn && drawn.error().code != base::ErrorCode::kUnavailable)
    spdlog::warn("no forecast for one who asked: {}", drawn.error().text());
  if (drawn)
    if (const auto found = drawn->find(question.job.id); found != drawn->end())
      put_range(sources_.widened(found->second, now), now, *question.reply.mutable_submit());
  sources_.answer(question.conn, std::move(question.reply));
  begin();
}

}  // namespace gw::ctld
