// One forecast (lib/forecast) at a time in a thread of its own, which has the lowest priority (but for tests) and so
// much of a core as it is given.
// Invariants: nothing is called after destruction, which does not wait for a forecast to be finished; whatever goes
// wrong with one, the controller goes on.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <thread>

#include "forecast/estimate.h"
#include "io/loop.h"

namespace gw::ctld {

class ForecastThread {
 public:
  using Drawn = std::map<base::JobId, forecast::StartRange>;
  struct Work {
    std::shared_ptr<const sched::PassInput> input;
    forecast::RunTimes known;
    std::set<base::JobId> jobs;                 ///< Empty: all that wait.
    base::Duration most = {};                   ///< Of a core,
    base::Duration longest = base::kUnlimited;  ///< and on the clock.
  };
  /// `took`: of a core. Errors: kUnavailable: there was not time enough.
  using DoneFn = std::function<void(const base::Result<Drawn>& drawn, base::Duration took)>;

  /// How it stands beside others that want a core: a test of what is told waits for the result, however busy the
  /// machine.
  enum class Priority { kLowest, kOrdinary };

  ForecastThread(io::Loop& loop, Priority priority) : poster_(loop.poster()), priority_(priority) {}
  ~ForecastThread();
  ForecastThread(const ForecastThread&) = delete;
  ForecastThread& operator=(const ForecastThread&) = delete;

  /// `done` is called on the loop; the one before has been by now.
  void run(Work work, DoneFn done);

 private:
  io::Poster poster_;
  const Priority priority_;
  std::atomic<bool> is_stopping_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  std::thread thread_;
};

}  // namespace gw::ctld
