// See estimates.h.
#include "sim/engine/estimates.h"

#include <algorithm>
#include <cmath>

#include "sim/engine/world.h"

namespace gw::sim {
namespace {

double median_of(std::vector<double>& values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

void tell(Estimates& estimates, const ToldStart& told) {
  estimates.open[told.job] = estimates.told.size();
  estimates.told.push_back(told);
}

}  // namespace

void note_arrival(World& world, uint32_t job) {
  Estimates& estimates = world.estimates;
  if (estimates.every == 0 || estimates.arrived++ % estimates.every != 0) return;
  estimates.fresh.push_back(job);
}

void note_start(World& world, uint32_t job) {
  Estimates& estimates = world.estimates;
  const auto open = estimates.open.find(job);
  if (open == estimates.open.end()) return;
  estimates.told[open->second].started = world.now;
  estimates.calibration.started(world.jobs[job].job.id, world.now);
  estimates.open.erase(open);
}

void note_end_of_run(World& world, uint32_t job, Duration ran) {
  const Record& record = world.records[job];
  if (world.estimates.every == 0 || record.preemptions + record.moves > 0) return;
  world.estimates.run_times.add({world.jobs[job].job.uid, world.progress[job].limit, ran});
}

base::Status tell_starts(World& world, const sched::Budget& budget) {
  Estimates& estimates = world.estimates;
  if (estimates.fresh.empty()) return {};
  forecast::Question question;
  for (const uint32_t job : std::exchange(estimates.fresh, {})) {
    const Record& record = world.records[job];
    if (record.phase == Phase::kPending)
      question.jobs.insert(world.jobs[job].job.id);
    else if (record.phase == Phase::kRunning)
      estimates.told.push_back({job, world.now, {world.now, world.now, world.now}, world.now});
  }
  if (question.jobs.empty()) return {};
  question.seed = question.jobs.begin()->value;
  const sched::PassInput input = sched::take_input(world.view, world.now, budget);
  GW_TRY(drawn, forecast::estimate_starts(input, estimates.run_times, question));
  for (const auto& [id, range] : drawn) {
    if (range.low == Time::never()) continue;  // the controller tells nothing of it either
    tell(estimates, {id.value - 1, world.now, estimates.calibration.widened(range, world.now), {}});
    estimates.calibration.told(id, world.now, range);
  }
  return {};
}

EstimateSummary summarise(const Estimates& estimates) {
  EstimateSummary sum;
  std::vector<double> widths, widths_of_waits, errors;
  for (const ToldStart& told : estimates.told) {
    if (!told.started) continue;
    ++sum.told;
    const bool is_before = told.started<told.range.low, is_after = told.started> told.range.high;
    ++(is_before ? sum.before : is_after ? sum.after : sum.inside);
    const double wait = static_cast<double>((told.started - told.at).us);
    const bool is_at_once = wait <= 0;
    sum.now += is_at_once ? 1 : 0;
    if (!is_at_once) sum.inside_of_waits += is_before || is_after ? 0 : 1;
    const bool is_open = told.range.high == Time::never();
    const double width = is_open ? HUGE_VAL : static_cast<double>((told.range.high - told.range.low).us);
    widths.push_back(width <= 0 ? 0 : width / std::max(wait, 1.0));
    if (is_at_once) continue;
    widths_of_waits.push_back(widths.back());
    const bool is_unknown = told.range.likely == Time::never();
    errors.push_back(is_unknown ? HUGE_VAL
                                : std::abs(static_cast<double>((told.started - told.range.likely).us)) / wait);
  }
  sum.median_width = median_of(widths);
  sum.median_width_of_waits = median_of(widths_of_waits);
  sum.median_error = median_of(errors);
  return sum;
}

}  // namespace gw::sim
