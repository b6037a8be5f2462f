// A replay as text, JSON and CSV, and several as a sweep. Numbers are rounded, so that equal input gives equal bytes.
// See replay.h and sweep.h.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/counted.h"
#include "base/hostlist.h"
#include "sim/expect.h"
#include "sim/replay.h"
#include "sim/sweep.h"
#include "sim/waits.h"

namespace gw::sim {
namespace {

using nlohmann::ordered_json;

double rounded(double value, double unit = 1000) { return std::round(value * unit) / unit; }

ordered_json to_json(const Summary& s) {
  ordered_json out = {{"jobs", s.jobs},
                      {"finished", s.finished},
                      {"unfinished", s.unfinished},
                      {"mean_completion_s", rounded(s.mean_completion_s)},
                      {"median_completion_s", rounded(s.median_completion_s)},
                      {"p95_completion_s", rounded(s.p95_completion_s)},
                      {"p99_completion_s", rounded(s.p99_completion_s)},
                      {"mean_wait_s", rounded(s.mean_wait_s)},
                      {"median_wait_s", rounded(s.median_wait_s)},
                      {"p95_wait_s", rounded(s.p95_wait_s)},
                      {"max_wait_s", rounded(s.max_wait_s)},
                      {"makespan_s", rounded(s.makespan_s)},
                      {"utilisation", rounded(s.utilisation, 1e6)}};
  if (s.fragmentation >= 0) out["fragmentation"] = rounded(s.fragmentation, 1e6);
  out["preemptions"] = s.preemptions;
  out["gpu_seconds_lost"] = rounded(s.gpu_seconds_lost);
  out["worst_fairness"] = rounded(s.worst_fairness);
  out["mean_fairness"] = rounded(s.mean_fairness);
  return out;
}

/// "3h25m" beside the exact number.
std::string with_words(double value) {
  const std::string words = format_offset(base::seconds(std::llround(value)));
  return fmt::format("{:.1f} s{}", value, value >= 60 ? " (" + words + ")" : "");
}

std::string lines_of(const Summary& s) {
  std::string out;
  const auto line = [&out](std::string_view what, const std::string& value) {
    out += fmt::format("  {:<24}{}\n", what, value);
  };
  line("jobs",
       fmt::format("{}{}", s.jobs, s.unfinished > 0 ? fmt::format(", {} of them unfinished", s.unfinished) : ""));
  line("mean completion", with_words(s.mean_completion_s));
  line("median completion", with_words(s.median_completion_s));
  line("p95 completion", with_words(s.p95_completion_s));
  line("p99 completion", with_words(s.p99_completion_s));
  line("mean wait", with_words(s.mean_wait_s));
  line("p95 wait", with_words(s.p95_wait_s));
  line("longest wait", with_words(s.max_wait_s));
  line("makespan", with_words(s.makespan_s));
  line("utilisation", fmt::format("{:.1f} %", 100 * s.utilisation));
  if (s.fragmentation >= 0) line("fragmentation", fmt::format("{:.1f} % of the free GPUs", 100 * s.fragmentation));
  line("preemptions", std::to_string(s.preemptions));
  line("GPU-seconds lost", fmt::format("{:.0f}", s.gpu_seconds_lost));
  line("finish-time fairness", fmt::format("mean {:.2f}, worst {:.2f}", s.mean_fairness, s.worst_fairness));
  return out;
}

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

std::string lines_by_size(const Replay& replay) {
  std::string out = fmt::format("\n  {:<16}{:>9}{:>14}{:>14}{:>14}{:>14}\n", "GPUs", "ended", "mean wait",
                                "median wait", "p95 wait", "longest wait");
  for (const auto& [size, waits] : waits_by_size(replay))
    out += fmt::format("  {:<16}{:>9}{:>12.0f} s{:>12.0f} s{:>12.0f} s{:>12.0f} s\n", size_words(size), waits.size(),
                       mean_of(waits), percentile(waits, 0.5), percentile(waits, 0.95), waits.back());
  return out;
}

ordered_json by_size_json(const Replay& replay) {
  ordered_json out = ordered_json::array();
  for (const auto& [size, waits] : waits_by_size(replay))
    out.push_back({{"gpus", size_words(size)},
                   {"finished", waits.size()},
                   {"mean_wait_s", rounded(mean_of(waits))},
                   {"median_wait_s", rounded(percentile(waits, 0.5))},
                   {"p95_wait_s", rounded(percentile(waits, 0.95))},
                   {"max_wait_s", rounded(waits.back())}});
  return out;
}

std::string seconds_text(Time t) { return t ? fmt::format("{:.3f}", static_cast<double>((t - kStart).us) / 1e6) : ""; }
std::string seconds_text(Duration d) { return fmt::format("{:.3f}", static_cast<double>(d.us) / 1e6); }

/// What all jobs waited for, the most first.
std::string lines_by_cause(const Replay& replay, uint64_t jobs) {
  const model::WaitSplit all = waits_by_qos(replay)[""];
  const double total = in_seconds(all.total());
  if (total <= 0) return {};
  std::vector<model::WaitSplit::Part> parts = all.parts();
  std::stable_sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.time > b.time; });
  std::string out = fmt::format("\n  {:<16}{:>9}{:>14}\n", "waited for", "part", "mean");
  for (const auto& [cause, time] : parts)
    out += fmt::format("  {:<16}{:>7.1f} %{:>12.0f} s\n", model::name(cause), 100 * in_seconds(time) / total,
                       in_seconds(time) / static_cast<double>(jobs));
  return out;
}

ordered_json by_cause_json(const model::WaitSplit& waited) {
  ordered_json out = ordered_json::object();
  for (const auto& [cause, time] : waited.parts()) out[std::string(model::name(cause))] = rounded(in_seconds(time));
  return out;
}

/// How true it came what jobs were told of their starts; empty: none was.
std::string lines_of_estimates(const Estimates& estimates) {
  const EstimateSummary s = summarise(estimates);
  if (s.told == 0) return {};
  const auto part = [](uint64_t some, uint64_t all) {
    return all == 0 ? 0.0 : 100 * static_cast<double>(some) / static_cast<double>(all);
  };
  std::string out =
      fmt::format("\n  told when they start: {}, {} of them at once\n", base::counted(s.told, "job"), s.now);
  out += fmt::format("  {:<24}{:.1f} % of all starts, {:.1f} % of those that waited; {:.1f} % before, {:.1f} % after\n",
                     "inside the range", part(s.inside, s.told), part(s.inside_of_waits, s.told - s.now),
                     part(s.before, s.told), part(s.after, s.told));
  out += fmt::format("  {:<24}{:.2f} of the wait (median), {:.2f} of those that waited\n", "width of the range",
                     s.median_width, s.median_width_of_waits);
  return out + fmt::format("  {:<24}{:.2f} of the wait (median of those that waited)\n", "error of the likeliest",
                           s.median_error);
}

ordered_json estimates_json(const Estimates& estimates) {
  const EstimateSummary s = summarise(estimates);
  const auto number = [](double value) { return std::isfinite(value) ? ordered_json(rounded(value)) : nullptr; };
  return {{"told", s.told},
          {"at_once", s.now},
          {"inside", s.inside},
          {"inside_of_waits", s.inside_of_waits},
          {"before", s.before},
          {"after", s.after},
          {"median_width", number(s.median_width)},
          {"median_width_of_waits", number(s.median_width_of_waits)},
          {"median_error", number(s.median_error)}};
}

/// "quota:12.000;resources:3.500"
std::string by_cause_text(const model::WaitSplit& waited) {
  std::string out;
  for (const auto& [cause, time] : waited.parts())
    out += fmt::format("{}{}:{}", out.empty() ? "" : ";", model::name(cause), seconds_text(time));
  return out;
}

/// Jobs without a QOS are at the root.
std::string shown_qos(const std::string& qos) { return qos.empty() ? "cluster" : qos; }

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + "\"";
}

std::string nodes_text(const Record& record) {
  std::vector<std::string> nodes = record.allocation.node_names();
  base::sort_hostlist(nodes);
  return base::compress_hostlist(nodes);
}

}  // namespace

std::string replay_text(const Replay& replay) {
  const Engine& engine = *replay.engine;
  std::string out =
      fmt::format("{} on {} with {:g} GPUs, order {}, fit {}\n", base::counted(engine.jobs().size(), "job"),
                  base::counted(replay.cluster->nodes.size(), "node"),
                  static_cast<double>(engine.gpu_milli()) / model::kWholeGpu, replay.order, replay.fit);
  if (!replay.rate_model.empty()) out += "rates by the model " + replay.rate_model + "\n";
  if (replay.trace.skipped > 0) out += base::counted(replay.trace.skipped, "bad row") + " left out\n";
  out += lines_of(summarise(engine)) + lines_by_size(replay) + lines_by_cause(replay, engine.jobs().size()) +
         lines_of_estimates(engine.estimates());
  const auto by_qos = summarise_by_qos(engine);
  if (by_qos.size() < 2 && by_qos.contains("")) return out;
  out += fmt::format("\n  {:<16}{:>9}{:>14}{:>14}{:>12}{:>8}{:>8}{:>8}\n", "QOS", "jobs", "mean compl.", "p95 compl.",
                     "mean wait", "use", "fair", "worst");
  for (const auto& [qos, s] : by_qos)
    out += fmt::format("  {:<16}{:>9}{:>12.0f} s{:>12.0f} s{:>10.0f} s{:>6.1f} %{:>8.2f}{:>8.2f}\n", shown_qos(qos),
                       s.jobs, s.mean_completion_s, s.p95_completion_s, s.mean_wait_s, 100 * s.utilisation,
                       s.mean_fairness, s.worst_fairness);
  return out;
}

std::string replay_json(const Replay& replay) {
  const Engine& engine = *replay.engine;
  ordered_json out = {
      {"schema_version", 1},
      {"order", replay.order},
      {"fit", replay.fit},
      {"rate_model", replay.rate_model.empty() ? ordered_json(nullptr) : ordered_json(replay.rate_model)},
      {"nodes", replay.cluster->nodes.size()},
      {"gpus", static_cast<double>(engine.gpu_milli()) / model::kWholeGpu},
      {"skipped_rows", replay.trace.skipped},
      {"passes", engine.passes()},
      {"summary", to_json(summarise(engine))},
      {"by_qos", ordered_json::object()}};
  for (const auto& [qos, summary] : summarise_by_qos(engine)) out["by_qos"][shown_qos(qos)] = to_json(summary);
  out["by_size"] = by_size_json(replay);
  out["waited_for_s"] = ordered_json::object();
  for (const auto& [qos, waited] : waits_by_qos(replay))
    out["waited_for_s"][qos.empty() ? "all" : "qos " + qos] = by_cause_json(waited);
  if (engine.estimates().every > 0) out["estimates"] = estimates_json(engine.estimates());
  return out.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

std::string sweep_text(const std::vector<SweepPoint>& points) {
  std::string out =
      fmt::format("{:>7}{:>9}{:>14}{:>14}{:>12}{:>12}{:>14}{:>9}{:>13}{:>12}\n", "NODES", "GPUs", "mean compl.",
                  "p95 compl.", "mean wait", "p95 wait", "longest wait", "use", "preemptions", "unfinished");
  for (const SweepPoint& p : points)
    out += fmt::format("{:>7}{:>9g}{:>12.0f} s{:>12.0f} s{:>10.0f} s{:>10.0f} s{:>12.0f} s{:>7.1f} %{:>13}{:>12}\n",
                       p.nodes, p.gpus, p.summary.mean_completion_s, p.summary.p95_completion_s, p.summary.mean_wait_s,
                       p.summary.p95_wait_s, p.summary.max_wait_s, 100 * p.summary.utilisation, p.summary.preemptions,
                       p.summary.unfinished);
  return out;
}

std::string sweep_json(const std::vector<SweepPoint>& points) {
  ordered_json out = {{"schema_version", 1}, {"sweep", ordered_json::array()}};
  for (const SweepPoint& p : points)
    out["sweep"].push_back({{"nodes", p.nodes}, {"gpus", p.gpus}, {"summary", to_json(p.summary)}});
  return out.dump(2) + "\n";
}

std::string replay_csv(const Replay& replay) {
  std::string out =
      "job_id,qos,user,gpus,submit_s,start_s,end_s,wait_s,completion_s,duration_s,preemptions,gpu_seconds_lost,"
      "fairness,nodes,state,waited_for\n";
  for (size_t i = 0; i < replay.engine->jobs().size(); ++i) {
    const SimJob& job = replay.engine->jobs()[i];
    const TraceJob& row = replay.trace.jobs[i];
    const Record& r = replay.engine->records()[i];
    const bool is_over = r.phase == Phase::kEnded;
    out += fmt::format(
        "{},{},{},{},{},{},{},{},{},{},{},{:.3f},{},{},{},{}\n", csv_field(row.id), csv_field(row.qos),
        csv_field(row.user), row.gpus, seconds_text(row.submit), seconds_text(r.started), seconds_text(r.ended),
        seconds_text(r.waited), is_over ? seconds_text(r.ended - r.submitted) : "", seconds_text(row.duration),
        r.preemptions, r.lost_gpu_s, is_over ? fmt::format("{:.3f}", fairness(job, r, *replay.engine)) : "",
        csv_field(nodes_text(r)), r.is_refused ? "refused" : name(phase_of(r)), by_cause_text(r.waited_for));
  }
  return out;
}

}  // namespace gw::sim
