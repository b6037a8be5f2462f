// See forecast_thread.h.
#include "ctld/shell/forecasts/forecast_thread.h"

#include <sys/resource.h>
#include <unistd.h>

#include <ctime>
#include <system_error>
#include <utility>

namespace gw::ctld {
namespace {

/// That this thread has had of the processors.
base::Duration thread_time() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return base::microseconds(t.tv_sec * 1'000'000 + t.tv_nsec / 1'000);
}

/// Nothing that the continuation of a queue meets may end the controller.
base::Result<ForecastThread::Drawn> estimate(const sched::PassInput& input, const forecast::RunTimes& known,
                                             const forecast::Question& question) {
  try {
    return forecast::estimate_starts(input, known, question);
  } catch (const std::exception& e) {
    return base::fail(base::ErrorCode::kInternal, e.what());
  }
}

}  // namespace

ForecastThread::~ForecastThread() {
  *alive_ = false;
  is_stopping_ = true;
  if (thread_.joinable()) thread_.join();
}

void ForecastThread::run(Work work, DoneFn done) {
  if (thread_.joinable()) thread_.join();  // it has posted its result
  const auto finish = std::make_shared<DoneFn>(std::move(done));
  const auto draw = [this, work = std::move(work), finish, alive = alive_] {
    if (priority_ == Priority::kLowest) setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), 19);
    forecast::Question question;
    question.jobs = work.jobs;
    question.seed = static_cast<uint64_t>(work.input->now.us);
    question.most_passes = UINT64_MAX;
    const base::Duration began = io::Loop::monotonic();
    question.go_on = [this, &work, began] {
      const bool is_late = work.longest != base::kUnlimited && io::Loop::monotonic() - began >= work.longest;
      return !is_stopping_ && !is_late && thread_time() < work.most;
    };
    const auto drawn = std::make_shared<base::Result<Drawn>>(estimate(*work.input, work.known, question));
    poster_.post([alive, finish, drawn, took = thread_time()] {
      if (*alive) (*finish)(*drawn, took);
    });
  };
  try {
    thread_ = std::thread(draw);
  } catch (const std::system_error& e) {
    (*finish)(base::fail(base::ErrorCode::kInternal, e.what()), {});
  }
}

}  // namespace gw::ctld
