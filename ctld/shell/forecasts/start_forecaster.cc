// See start_forecaster.h.
#include "ctld/shell/forecasts/start_forecaster.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

namespace gw::ctld {
namespace {

constexpr size_t kMostWaiting = 5'000, kLeastWaiting = 64;  // Of the jobs that wait so many are looked at,
constexpr base::Duration kMost = base::seconds(20);         // for so long at most, of a core.
constexpr int64_t kRest = 9;                                // Then it rests so many times as long.

}  // namespace

StartForecaster::StartForecaster(io::Loop& loop, SchedulerThread& scheduler, base::Duration pause,
                                 std::function<const forecast::RunTimes&()> known,
                                 std::function<void(const Drawn&)> done, ForecastThread::Priority priority)
    : loop_(loop),
      scheduler_(scheduler),
      pause_(pause),
      known_(std::move(known)),
      done_(std::move(done)),
      most_waiting_(kMostWaiting),
      thread_(loop, priority) {}

StartForecaster::~StartForecaster() { *alive_ = false; }

void StartForecaster::look_again() {
  if (pause_.us <= 0 || std::exchange(is_due_, true)) return;
  is_resting_ = true;
  timer_ = loop_.after(std::max(pause_, base::Duration{kRest * took_.us}), [this] { copy(); });
}

void StartForecaster::set_pause(base::Duration pause) {
  pause_ = pause;
  if (pause.us <= 0) done_({});
  if (std::exchange(is_resting_, false)) {  // by the old one
    timer_ = {};
    is_due_ = false;
  }
  look_again();
}

void StartForecaster::copy() {
  is_resting_ = false;
  scheduler_.inspect(
      [this, alive = alive_, most = most_waiting_](sched::ClusterView& view, base::Time now) -> std::function<void()> {
        std::shared_ptr<const sched::PassInput> input;
        if (view.queue().size() > 0)
          input = std::make_shared<const sched::PassInput>(sched::take_input(view, now, {}, most));
        return [this, alive, input] {
          if (!*alive) return;
          input == nullptr ? finish(Drawn{}, {}) : draw(input);
        };
      });
}

void StartForecaster::draw(const std::shared_ptr<const sched::PassInput>& input) {
  thread_.run({input, known_(), {}, kMost},
              [this](const base::Result<Drawn>& drawn, base::Duration took) { finish(drawn, took); });
}

/// As many jobs as there is time for.
void StartForecaster::adapt(const base::Result<Drawn>& drawn) {
  if (!drawn && drawn.error().code == base::ErrorCode::kUnavailable)
    most_waiting_ = std::max(most_waiting_ / 2, kLeastWaiting);
  else if (took_ < base::Duration{kMost.us / 8})
    most_waiting_ = std::min(most_waiting_ * 2, kMostWaiting);
}

void StartForecaster::finish(const base::Result<Drawn>& drawn, base::Duration took) {
  is_due_ = false;
  took_ = took;
  adapt(drawn);
  const bool is_late = !drawn && drawn.error().code == base::ErrorCode::kUnavailable;
  if (!drawn && (!is_late || most_waiting_ == kLeastWaiting))
    spdlog::warn("no forecast of starts: {}", drawn.error().text());
  else if (drawn && pause_.us > 0)
    done_(*drawn);
  if (!drawn || !drawn->empty()) look_again();  // what runs has run longer by then
}

}  // namespace gw::ctld
