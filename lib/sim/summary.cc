// See summary.h.
#include "sim/summary.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace gw::sim {
namespace {

double mean(const std::vector<double>& values) {
  if (values.empty()) return 0;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// First submission and last end.
struct Span {
  Time first = Time::never();
  Time last = kStart;
};

Span span_of(const std::vector<Record>& records) {
  Span span;
  for (const Record& r : records) {
    if (r.phase == Phase::kFuture || r.is_refused) continue;
    span.first = std::min(span.first, r.submitted);
    if (r.phase == Phase::kEnded) span.last = std::max(span.last, r.ended);
  }
  return span;
}

/// Gathers the jobs of one group.
class Gatherer {
 public:
  void add(const SimJob& job, const Record& r, const Engine& engine) {
    ++sum_.jobs;
    sum_.preemptions += r.preemptions;
    sum_.gpu_seconds_lost += r.lost_gpu_s;
    held_gpu_s_ += r.held_gpu_s;
    held_cpu_s_ += r.held_cpu_s;
    if (r.phase != Phase::kEnded) return;
    ++sum_.finished;
    completions_.push_back(in_seconds(r.ended - r.submitted));
    waits_.push_back(in_seconds(r.waited));
    if (job.work > Duration{}) fairness_.push_back(fairness(job, r, engine));
  }

  Summary finish(const Engine& engine, const Span& whole) {
    std::sort(completions_.begin(), completions_.end());
    std::sort(waits_.begin(), waits_.end());
    sum_.unfinished = sum_.jobs - sum_.finished;
    sum_.mean_completion_s = mean(completions_);
    sum_.median_completion_s = percentile(completions_, 0.5);
    sum_.p95_completion_s = percentile(completions_, 0.95);
    sum_.p99_completion_s = percentile(completions_, 0.99);
    sum_.mean_wait_s = mean(waits_);
    sum_.median_wait_s = percentile(waits_, 0.5);
    sum_.p95_wait_s = percentile(waits_, 0.95);
    sum_.max_wait_s = percentile(waits_, 1);
    sum_.mean_fairness = mean(fairness_);
    for (double f : fairness_) sum_.worst_fairness = std::max(sum_.worst_fairness, f);
    const double time = whole.first < whole.last ? in_seconds(whole.last - whole.first) : 0;
    const bool has_gpus = engine.gpu_milli() > 0;
    const double there =
        has_gpus ? static_cast<double>(engine.gpu_milli()) / model::kWholeGpu : static_cast<double>(engine.cpus());
    if (time * there > 0) sum_.utilisation = (has_gpus ? held_gpu_s_ : held_cpu_s_) / (time * there);
    return sum_;
  }
  Summary& sum() { return sum_; }

 private:
  Summary sum_;
  std::vector<double> completions_, waits_, fairness_;
  double held_gpu_s_ = 0, held_cpu_s_ = 0;
};

double fragmentation(const Engine& engine, const Span& whole) {
  double free = 0, useless = 0;
  const std::vector<Sample>& samples = engine.samples();
  for (size_t i = 0; i + 1 < samples.size(); ++i) {
    const Time from = std::max(samples[i].at, whole.first), to = std::min(samples[i + 1].at, whole.last);
    if (to <= from) continue;
    free += static_cast<double>(engine.gpu_milli() - samples[i].busy_gpu_milli) * in_seconds(to - from);
    useless += samples[i].fragmented_gpu_milli * in_seconds(to - from);
  }
  return free > 0 ? std::max(useless / free, 0.0) : 0;
}

}  // namespace

double percentile(const std::vector<double>& sorted, double part) {
  if (sorted.empty()) return 0;
  const double rank = part * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(rank);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (sorted[above] - sorted[below]) * (rank - static_cast<double>(below));
}

double fairness(const SimJob& job, const Record& record, const Engine& engine) {
  const double held = record.phase == Phase::kEnded ? in_seconds(record.ended - record.submitted) : 0;
  const bool has_gpus = record.allocation.total_gpus() > 0;
  double asked = 0;
  for (const model::NodeShare& share : record.allocation.shares)
    asked += has_gpus ? static_cast<double>(share.gpus.size()) * share.gpu_milli : static_cast<double>(share.cpus);
  const double there = static_cast<double>(has_gpus ? engine.gpu_milli() : engine.cpus());
  const double part = there > 0 ? asked / there : 0;
  const double alone = in_seconds(job.work) * std::max(1.0, part * std::max(record.contention, 1.0));
  return alone > 0 ? held / alone : 0;
}

Summary summarise(const Engine& engine) {
  Gatherer all;
  for (size_t i = 0; i < engine.jobs().size(); ++i) all.add(engine.jobs()[i], engine.records()[i], engine);
  const Span span = span_of(engine.records());
  Summary sum = all.finish(engine, span);
  sum.makespan_s = span.first < span.last ? in_seconds(span.last - span.first) : 0;
  sum.fragmentation = fragmentation(engine, span);
  return sum;
}

std::map<std::string, Summary> summarise_by_qos(const Engine& engine) {
  std::map<std::string, Gatherer> groups;
  std::map<std::string, std::vector<Record>> records;
  for (size_t i = 0; i < engine.jobs().size(); ++i) {
    const std::string& qos = engine.jobs()[i].job.qos;
    groups[qos].add(engine.jobs()[i], engine.records()[i], engine);
    records[qos].push_back(engine.records()[i]);
  }
  const Span whole = span_of(engine.records());
  std::map<std::string, Summary> out;
  for (auto& [qos, group] : groups) {
    const Span own = span_of(records[qos]);
    out[qos] = group.finish(engine, whole);
    out[qos].makespan_s = own.first < own.last ? in_seconds(own.last - own.first) : 0;
  }
  return out;
}

}  // namespace gw::sim
