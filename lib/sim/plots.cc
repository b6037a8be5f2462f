// See plots.h.
#include "sim/plots.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/counted.h"
#include "sim/expect.h"
#include "sim/svg.h"
#include "sim/waits.h"

namespace gw::sim {
namespace {

constexpr int kBins = 380;  // about two pixels each

std::string subtitle(const Replay& replay) {
  return fmt::format("{}, {}, {:g} GPUs; order {}, fit {}", base::counted(replay.engine->jobs().size(), "job"),
                     base::counted(replay.cluster->nodes.size(), "node"),
                     static_cast<double>(replay.engine->gpu_milli()) / model::kWholeGpu, replay.order, replay.fit);
}

/// "5d7h", "4h8m", "12s": the two largest units.
std::string words(double s) {
  const std::string all = format_offset(base::seconds(std::llround(s)));
  size_t end = all.find_first_not_of("0123456789");
  if (end + 1 < all.size()) end = all.find_first_not_of("0123456789", end + 1);
  return all.substr(0, end + 1);
}

/// Means over equal bins of what was in use, in percent.
std::vector<double> mean_use(const Engine& engine, double length) {
  std::vector<double> bins(kBins, 0);
  const bool has_gpus = engine.gpu_milli() > 0;
  const auto there = static_cast<double>(has_gpus ? engine.gpu_milli() : std::max<uint64_t>(engine.cpus(), 1));
  const double width = length / kBins;
  const std::vector<Sample>& samples = engine.samples();
  for (size_t i = 0; i + 1 < samples.size(); ++i) {
    const double use = static_cast<double>(has_gpus ? samples[i].busy_gpu_milli : samples[i].busy_cpus) / there * 100;
    const double from = in_seconds(samples[i].at - samples[0].at), to = in_seconds(samples[i + 1].at - samples[0].at);
    for (int b = static_cast<int>(from / width); b < kBins && b * width < to; ++b) {
      const double part = std::min(to, (b + 1) * width) - std::max(from, b * width);
      bins[static_cast<size_t>(b)] += use * std::max(part, 0.0) / width;
    }
  }
  return bins;
}

std::vector<double> sorted_completions(const Engine& engine) {
  std::vector<double> all;
  for (const Record& r : engine.records())
    if (r.phase == Phase::kEnded) all.push_back(in_seconds(r.ended - r.submitted));
  std::sort(all.begin(), all.end());
  return all;
}

void mark_percentile(Svg& svg, const Frame& frame, const std::vector<double>& sorted, double part, const char* name) {
  const double value = percentile(sorted, part);
  const Point top = frame.at(value, part * 100);
  svg.line({top.x, frame.bottom()}, top, ink::kOrange, 1, true);
  svg.circle(top, 3.5, ink::kOrange);
  const bool is_at_edge = frame.x().part(value) > 0.84;  // the label goes to the left there, below the curve
  svg.text({top.x + (is_at_edge ? -8 : 8), top.y + (is_at_edge ? 60 : 16)}, fmt::format("{} {}", name, words(value)),
           is_at_edge ? "end" : "start", 12, ink::kOrange);
}

void draw_waits(Svg& svg, const Frame& frame, double place, const std::vector<double>& waits) {
  const auto height = [&](double part) { return frame.at(place, std::max(percentile(waits, part), 1.0)); };
  const Point low = height(0.25), middle = height(0.5), high = height(0.75), top = height(0.95);
  constexpr double kHalf = 17;
  svg.line({high.x, high.y}, {top.x, top.y}, ink::kBlue, 1.5);
  svg.line({top.x - 7, top.y}, {top.x + 7, top.y}, ink::kBlue, 1.5);
  svg.rect({low.x - kHalf, high.y}, 2 * kHalf, std::max(low.y - high.y, 1.0), ink::kPale);
  svg.line({middle.x - kHalf, middle.y}, {middle.x + kHalf, middle.y}, ink::kBlue, 2.5);
}

}  // namespace

std::string utilisation_plot(const Replay& replay) {
  const Engine& engine = *replay.engine;
  const double length = std::max(in_seconds(engine.samples().back().at - engine.samples().front().at), 1.0);
  Svg svg(kChartWidth, kChartHeight);
  const std::string title = engine.gpu_milli() > 0 ? "GPUs in use over time" : "CPUs in use over time";
  const Frame frame(svg, title, subtitle(replay), time_axis("time since the start", length),
                    percent_axis(engine.gpu_milli() > 0 ? "GPUs held by jobs" : "CPUs held by jobs"));
  const std::vector<double> bins = mean_use(engine, length);
  std::vector<Point> points;
  for (int b = 0; b < kBins; ++b) {
    points.push_back(frame.at(b * length / kBins, bins[static_cast<size_t>(b)]));
    points.push_back(frame.at((b + 1) * length / kBins, bins[static_cast<size_t>(b)]));
  }
  svg.area(points, frame.bottom(), ink::kPale);
  svg.polyline(points, ink::kBlue, 1.2);
  return svg.finish();
}

std::string completion_plot(const Replay& replay) {
  const std::vector<double> all = sorted_completions(*replay.engine);
  Svg svg(kChartWidth, kChartHeight);
  const Frame frame(svg, "Completion time", subtitle(replay),
                    log_time_axis("time from submission to end (log scale)", all.empty() ? 1 : all.front(),
                                  all.empty() ? 10 : all.back()),
                    percent_axis("jobs complete within it"));
  std::vector<Point> points;
  const size_t step = std::max<size_t>(all.size() / (2 * kBins), 1);
  for (size_t i = 0; i < all.size(); i += step)
    points.push_back(frame.at(all[i], 100 * static_cast<double>(i + 1) / static_cast<double>(all.size())));
  if (!all.empty()) points.push_back(frame.at(all.back(), 100));
  svg.polyline(points, ink::kBlue, 2);
  if (!all.empty()) mark_percentile(svg, frame, all, 0.5, "median");
  if (!all.empty()) mark_percentile(svg, frame, all, 0.95, "p95");
  return svg.finish();
}

std::string wait_plot(const Replay& replay) {
  const auto groups = waits_by_size(replay);
  double longest = 10;
  for (const auto& [group, waits] : groups) longest = std::max(longest, percentile(waits, 0.95));
  Axis x{0, static_cast<double>(groups.size()), false, "GPUs asked for (below: jobs)", {}};
  double place = 0.5;
  for (const auto& [group, waits] : groups) x.ticks.push_back({std::exchange(place, place + 1), size_words(group)});
  Svg svg(kChartWidth, kChartHeight);
  const Frame frame(svg, "Wait by job size", subtitle(replay) + "; line: median, box: middle half, whisker: 95 of 100",
                    x, log_time_axis("time waited (log scale, from 1 s)", 1, longest));
  place = 0.5;
  for (const auto& [group, waits] : groups) {
    draw_waits(svg, frame, place, waits);
    svg.text({frame.at(place, 1).x, frame.bottom() + 32}, std::to_string(waits.size()), "middle", 10, ink::kFaint);
    place += 1;
  }
  return svg.finish();
}

}  // namespace gw::sim
