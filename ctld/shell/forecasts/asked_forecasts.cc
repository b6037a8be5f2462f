// See asked_forecasts.h.
#include "ctld/shell/forecasts/asked_forecasts.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "ctld/core/tables/start_forecasts.h"
#include "sched/view/what_if.h"

namespace gw::ctld {

void AskedForecasts::ask(Unforeseen question) {
  const auto is_of_user = [&question](const Unforeseen& other) { return other.uid == question.uid; };
  if (waiting_.size() >= kMostAsked || std::any_of(waiting_.begin(), waiting_.end(), is_of_user))
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
    if (view.queue().size() < kMostWaiting) {  // of a longer one a part alone would start too early
      const sched::WhatIf if_so(view, *job);
      input = std::make_shared<const sched::PassInput>(sched::take_input(view, now, {}));
    }
    return [this, alive, input] {
      if (*alive) draw(input);
    };
  });
}

void AskedForecasts::draw(std::shared_ptr<const sched::PassInput> input) {
  if (input == nullptr) return finish(ForecastThread::Drawn{}, {});
  const base::Time now = input->now;
  thread_.run(
      {std::move(input), sources_.known(), {waiting_.front().job.id}, kMost},
      [this, now](const base::Result<ForecastThread::Drawn>& drawn, base::Duration /*took*/) { finish(drawn, now); });
}

void AskedForecasts::finish(const base::Result<ForecastThread::Drawn>& drawn, base::Time now) {
  Unforeseen question = std::move(waiting_.front());
  waiting_.pop_front();
  if (!drawn && drawn.error().code != base::ErrorCode::kUnavailable)
    spdlog::warn("no forecast for one who asked: {}", drawn.error().text());
  if (drawn)
    if (const auto found = drawn->find(question.job.id); found != drawn->end())
      put_range(sources_.widened(found->second, now), now, *question.reply.mutable_submit());
  sources_.answer(question.conn, std::move(question.reply));
  begin();
}

}  // namespace gw::ctld
