// See estimate.h.
#include "forecast/estimate.h"

#include <algorithm>

#include "forecast/forward.h"

namespace gw::forecast {
namespace {

/// So many of them as this part lie below it.
Time quantile(const std::vector<Time>& sorted, double part) {
  const double rank = part * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(rank);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  if (sorted[below] == Time::never() || sorted[above] == Time::never()) return sorted[above];
  const double between = rank - static_cast<double>(below);
  return sorted[below] +
         Duration{static_cast<int64_t>(static_cast<double>((sorted[above] - sorted[below]).us) * between)};
}

}  // namespace

base::Result<std::map<base::JobId, StartRange>> estimate_starts(const sched::PassInput& input, const RunTimes& known,
                                                                const Question& question) {
  std::map<base::JobId, std::vector<Time>> starts;
  for (const sched::PendingJob& job : input.queue)
    if (question.jobs.empty() || question.jobs.contains(job.id)) starts[job.id];
  Assumptions assumed;
  for (const auto& [id, times] : starts) assumed.until_started.insert(id);
  assumed.most_passes = question.most_passes;
  const RunTimeDraws draws(known, input.running, input.now);
  Random seeds(question.seed);
  assumed.go_on = question.go_on;
  const auto goes_on = [&question] { return !question.go_on || question.go_on(); };
  uint32_t whole = 0;
  for (uint32_t i = 0; i < question.samples && !starts.empty() && goes_on(); ++i) {
    Random random(seeds.next());
    assumed.run_time = [&](uint32_t uid, Duration limit, Duration ran) { return draws.draw(uid, limit, ran, random); };
    GW_TRY(view, sched::restore_view(input));
    GW_TRY(ahead, look_ahead(input, *view, assumed));
    if (!goes_on()) break;  // this one may have been cut short
    ++whole;
    for (const JobForecast& job : ahead)
      if (const auto asked = starts.find(job.id); asked != starts.end())
        asked->second.push_back(job.first_start ? job.first_start : Time::never());
  }
  if (!starts.empty() && whole < std::min(question.samples, question.least_samples))
    return base::fail(base::ErrorCode::kUnavailable,
                      "the time was up before the queue had been continued often enough");
  std::map<base::JobId, StartRange> out;
  for (auto& [id, times] : starts) {
    if (times.empty()) continue;
    std::sort(times.begin(), times.end());
    out[id] = {quantile(times, question.outside), quantile(times, 0.5), quantile(times, 1 - question.outside)};
  }
  return out;
}

}  // namespace gw::forecast
