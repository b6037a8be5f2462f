// Forecasts when waiting jobs will start (lib/forecast), again and again: the scheduler's thread copies what it sees,
// and a thread of its own, which has a tenth of one core at most, continues the queue from there.
// Invariants: one forecast is made at a time; neither the loop nor a pass waits for it, but for the copy. Of a queue
// that is too long for the time of a forecast fewer jobs are looked at.
#pragma once

#include <functional>
#include <memory>

#include "ctld/shell/forecasts/forecast_thread.h"
#include "ctld/shell/scheduler_thread.h"
#include "io/loop.h"

namespace gw::ctld {

class StartForecaster {
 public:
  using Drawn = ForecastThread::Drawn;
  /// `known` gives what the runs before took, `done` takes a forecast; both are called on the loop. A forecast is made
  /// no sooner than `pause` after the one before; zero: never.
  StartForecaster(io::Loop& loop, SchedulerThread& scheduler, base::Duration pause,
                  std::function<const forecast::RunTimes&()> known, std::function<void(const Drawn&)> done,
                  ForecastThread::Priority priority = ForecastThread::Priority::kLowest);
  ~StartForecaster();
  StartForecaster(const StartForecaster&) = delete;
  StartForecaster& operator=(const StartForecaster&) = delete;

  /// Something may have changed.
  void look_again();
  void set_pause(base::Duration pause);

 private:
  io::Loop& loop_;
  SchedulerThread& scheduler_;
  base::Duration pause_;
  base::Duration took_ = {};  // Of a core, the latest forecast.
  std::function<const forecast::RunTimes&()> known_;
  std::function<void(const Drawn&)> done_;
  io::Timer timer_;
  bool is_due_ = false;      // One is waited for, or under way.
  bool is_resting_ = false;  // It is waited for.
  size_t most_waiting_;      // Jobs that are looked at.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  ForecastThread thread_;

  void copy();
  void draw(const std::shared_ptr<const sched::PassInput>& input);
  void finish(const base::Result<Drawn>& drawn, base::Duration took);
  void adapt(const base::Result<Drawn>& drawn);
};

}  // namespace gw::ctld
