// When a job would start that nobody has submitted: for those who ask with --test-only. The queue is continued with the
// job in it, for this one question.
// Invariants: one forecast is made at a time, a few wait, one of each user, who then rests; whoever finds no room, or
// asks about a queue that is too long for the time of a question, is answered without a range; an answer comes once.
#pragma once

#include <deque>

#include "ctld/core/effects.h"
#include "ctld/shell/forecasts/forecast_thread.h"
#include "ctld/shell/scheduler_thread.h"

namespace gw::ctld {

/// An answer that is complete but for the range of its start.
struct Unforeseen {
  ConnId conn = 0;
  uint32_t uid = 0;
  wire::ApiReply reply = {};
  sched::PendingJob job = {};
};

class AskedForecasts {
 public:
  /// What the ranges are made with, asked on the loop.
  struct Sources {
    std::function<const forecast::RunTimes&()> known;
    std::function<forecast::StartRange(const forecast::StartRange& drawn, base::Time now)> widened;
    std::function<void(ConnId conn, wire::ApiReply reply)> answer;
  };
  struct Bounds {
    base::Duration most = base::seconds(2);     ///< Of a core, for a question,
    base::Duration longest = base::seconds(4);  ///< and so long at most.
    int64_t rest = 4;                           ///< So many times as long as it took its user rests.
    ForecastThread::Priority priority = ForecastThread::Priority::kLowest;
  };
  static constexpr size_t kMostWaiting = 5'000;  ///< Jobs of a queue that is continued.
  static constexpr size_t kMostAsked = 4;        ///< Questions that wait.

  AskedForecasts(io::Loop& loop, SchedulerThread& scheduler, Sources sources, Bounds bounds)
      : scheduler_(scheduler), sources_(std::move(sources)), bounds_(bounds), thread_(loop, bounds.priority) {}
  ~AskedForecasts() { *alive_ = false; }
  AskedForecasts(const AskedForecasts&) = delete;
  AskedForecasts& operator=(const AskedForecasts&) = delete;

  void ask(Unforeseen question);
  /// The connection is closed: nobody wants its answer.
  void forget(ConnId conn);

 private:
  SchedulerThread& scheduler_;
  const Sources sources_;
  const Bounds bounds_;
  std::deque<Unforeseen> waiting_;              // the first of them is looked at
  std::map<uint32_t, base::Duration> resting_;  // by user: until then on the monotonic clock
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  ForecastThread thread_;

  void begin();
  void draw(std::shared_ptr<const sched::PassInput> input);
  /// `now`: of what was looked at.
  void finish(const base::Result<ForecastThread::Drawn>& drawn, base::Time now, base::Duration took);
};

}  // namespace gw::ctld
