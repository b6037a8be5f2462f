// See start_forecaster.h.
#include "ctld/shell/start_forecaster.h"

#include <spdlog/spdlog.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <system_error>
#include <utility>

namespace gw::ctld {
namespace {

constexpr size_t kMostWaiting = 5'000, kLeastWaiting = 64;  // Of the jobs that wait so many are looked at,
constexpr base::Duration kMost = base::seconds(20);         // for so long at most, of a core.
constexpr int64_t kRest = 9;                                // Then it rests so many times as long.

/// That this thread has had of the processors.
base::Duration thread_time() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return base::microseconds(t.tv_sec * 1'000'000 + t.tv_nsec / 1'000);
}

}  // namespace

StartForecaster::StartForecaster(io::Loop& loop, SchedulerThread& scheduler, base::Duration pause,
                                 std::function<const forecast::RunTimes&()> known,
                                 std::function<void(const Drawn&)> done)
    : loop_(loop),
      poster_(loop.poster()),
      scheduler_(scheduler),
      pause_(pause),
      known_(std::move(known)),
      done_(std::move(done)),
      most_waiting_(kMostWaiting) {}

StartForecaster::~StartForecaster() {
  *alive_ = false;
  is_stopping_ = true;
  if (thread_.joinable()) thread_.join();
}

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

namespace {

/// Nothing that the continuation of a queue meets may end the controller.
base::Result<StartForecaster::Drawn> estimate(const sched::PassInput& input, const forecast::RunTimes& known,
                                              const forecast::Question& question) {
  try {
    return forecast::estimate_starts(input, known, question);
  } catch (const std::exception& e) {
    return base::fail(base::ErrorCode::kInternal, e.what());
  }
}

}  // namespace

void StartForecaster::draw(const std::shared_ptr<const sched::PassInput>& input) {
  if (thread_.joinable()) thread_.join();  // it has posted its result
  const auto work = [this, input, known = known_(), alive = alive_] {
    setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), 19);
    forecast::Question question;
    question.seed = static_cast<uint64_t>(input->now.us);
    question.most_passes = UINT64_MAX;
    question.go_on = [this] { return !is_stopping_ && thread_time() < kMost; };
    const auto drawn = std::make_shared<base::Result<Drawn>>(estimate(*input, known, question));
    poster_.post([this, alive, drawn, took = thread_time()] {
      if (*alive) finish(*drawn, took);
    });
  };
  try {
    thread_ = std::thread(work);
  } catch (const std::system_error& e) {
    finish(base::fail(base::ErrorCode::kInternal, e.what()), {});
  }
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
