// The event loop: instants, arrivals, passes. See engine.h.
#include "sim/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "forecast/rest.h"
#include "sim/engine/admission.h"
#include "sim/engine/at_start.h"
#include "sim/engine/decisions.h"
#include "sim/engine/gangs.h"
#include "sim/engine/pace.h"
#include "sim/engine/runs.h"
#include "sim/engine/ties.h"
#include "sim/engine/usage.h"

namespace gw::sim {
namespace {

constexpr uint32_t kMaxIdleWakes = 100'000;  // Timers in a row that change nothing.

base::Status restless(Time now, const char* what) {
  return base::fail(
      base::ErrorCode::kInternal,
      fmt::format("{} s after the start the scheduler does not come to rest: {}", (now - kStart).seconds(), what));
}

}  // namespace

Engine::Engine(const Cluster& cluster, std::vector<SimJob> jobs, const EngineOptions& options)
    : world_(cluster, std::move(jobs), options), options_(options) {}

base::Status Engine::run() {
  const Timetable& timetable = world_.timetable;
  tie_jobs(world_);
  GW_TRY_STATUS(place_running_jobs(world_));
  sort_arrivals(world_);
  GW_TRY_STATUS(settle());
  uint32_t idle = 0;
  for (Time changed = now();;) {
    drop_stale_endings(world_);
    const Time next = next_instant();
    if (next == Time::never() || (options_.until && next > *options_.until)) break;
    const bool is_tick = awaits_tick(world_) && next == next_tick(now()) && next != timetable.timer;
    go_to(next);
    const uint64_t before = world_.changes;
    GW_TRY_STATUS(settle());
    if (world_.changes != before) {
      changed = now();
      idle = 0;
      continue;
    }
    const bool is_over = !timetable.has_arrivals() && timetable.endings.empty() && timetable.reports.empty() &&
                         next_delay(world_) == Time::never();
    const Time rest = is_over ? forecast::rest_from(world_.view, changed) : Time::never();
    if (now() >= rest && !awaits_tick(world_)) break;
    if (is_tick) continue;
    if (++idle < kMaxIdleWakes) continue;
    if (rest != Time::never()) break;  // recurring reservations in a pattern too long to wait for
    return restless(now(), "it asks to be called again and again, and changes nothing");
  }
  if (options_.until && *options_.until > now()) go_to(*options_.until);
  sample(world_.measures, world_.view, now());
  explain_waits(world_);
  return {};
}

Time Engine::next_instant() const {
  const Timetable& timetable = world_.timetable;
  Time next = timetable.timer > now() ? timetable.timer : Time::never();
  if (awaits_tick(world_)) next = std::min(next, next_tick(now()));
  if (timetable.has_arrivals()) next = std::min(next, jobs()[timetable.arrivals[timetable.next_arrival]].job.submitted);
  if (!timetable.endings.empty()) next = std::min(next, timetable.endings.top().at);
  if (!timetable.reports.empty()) next = std::min(next, std::max(timetable.reports.begin()->first, now()));
  return std::min(next, next_delay(world_));
}

void Engine::go_to(Time t) {
  let_pass(world_.measures, t - now());
  tell_usage(world_, t);
  world_.now = t;
}

base::Status Engine::settle() {
  const auto& endings = world_.timetable.endings;
  do {
    end_what_is_due();
    tell_rates(world_);
    let_in_what_is_due(world_);
    admit_what_is_due();
    GW_TRY_STATUS(plan_to_rest());
    drop_stale_endings(world_);
  } while (!endings.empty() && endings.top().at <= now());
  GW_TRY_STATUS(tell_starts(world_, options_.budget));
  sample(world_.measures, world_.view, now());
  if (options_.tell) options_.tell(world_.measures.left, now());
  if (options_.watch) GW_TRY_STATUS(options_.watch(world_.view, now()));
  return {};
}

void Engine::end_what_is_due() {
  auto& endings = world_.timetable.endings;
  for (drop_stale_endings(world_); !endings.empty() && endings.top().at <= now(); drop_stale_endings(world_)) {
    const Ending due = endings.top();
    endings.pop();
    if (due.extension)
      drop_extension(world_, due.job, due.extension);
    else if (due.is_eviction)
      make_way(world_, due.job);
    else
      end_run(world_, due.job);
  }
}

void Engine::admit_what_is_due() {
  Timetable& timetable = world_.timetable;
  while (timetable.has_arrivals() && jobs()[timetable.arrivals[timetable.next_arrival]].job.submitted <= now())
    admit(world_, timetable.arrivals[timetable.next_arrival++]);
}

base::Status Engine::plan_to_rest() {
  const auto carry_out_all = [this](const sched::Plan& plan) -> base::Result<bool> {
    ++passes_;
    world_.timetable.timer = plan.next_change_at;
    follow_classes(world_, plan.at);
    bool acted = false;
    for (const sched::Group& group : plan.groups) {
      for (const sched::Decision& decision : group.decisions) {
        GW_TRY(changed, carry_out(world_, decision));
        acted |= changed;
      }
    }
    return acted;
  };
  GW_TRY(is_done, sched::plan_to_rest(world_.view, now(), options_.budget, carry_out_all));
  return is_done ? base::Status() : restless(now(), "it keeps deciding");
}

}  // namespace gw::sim
