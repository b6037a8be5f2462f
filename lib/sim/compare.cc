// Two runs of the same jobs held against each other. See compare.h.
#include "sim/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "base/counted.h"
#include "sim/expect.h"

namespace gw::sim {
namespace {

using nlohmann::ordered_json;

constexpr double kSame = 1.0;  // seconds
constexpr double kNever = std::numeric_limits<double>::infinity();

/// How much later the second is; 0 where neither is known.
double later(const std::optional<double>& before, const std::optional<double>& after) {
  if (!before && !after) return 0;
  if (!before) return -kNever;
  return after ? *after - *before : kNever;
}

double later(const Stay& before, const Stay& after) {
  const bool ends = before.completion_s || after.completion_s;
  return ends ? later(before.completion_s, after.completion_s) : later(before.wait_s, after.wait_s);
}

std::string size_name(uint32_t gpus) {
  if (gpus <= 1) return std::to_string(gpus);
  return gpus < 8 ? "2-7" : gpus < 16 ? "8-15" : gpus < 64 ? "16-63" : "64+";
}
int size_rank(const std::string& name) {
  static const std::vector<std::string> kNames = {"0", "1", "2-7", "8-15", "16-63", "64+"};
  return static_cast<int>(std::find(kNames.begin(), kNames.end(), name) - kNames.begin());
}

/// Sums, from which the means come.
class Tally {
 public:
  void add(const Stay& before, const Stay& after) {
    const double by = later(before, after);
    ++change_.jobs;
    change_.gain += by <= -kSame;
    change_.lose += by >= kSame;
    add(before.wait_s, after.wait_s, waits_, change_.old_wait_s, change_.new_wait_s);
    add(before.completion_s, after.completion_s, ends_, change_.old_completion_s, change_.new_completion_s);
  }
  Change take(const std::string& name) {
    Change out = change_;
    out.name = name;
    for (double* sum : {&out.old_wait_s, &out.new_wait_s}) *sum /= std::max(waits_, 1U);
    for (double* sum : {&out.old_completion_s, &out.new_completion_s}) *sum /= std::max(ends_, 1U);
    return out;
  }

 private:
  Change change_;
  uint32_t waits_ = 0, ends_ = 0;

  static void add(const std::optional<double>& before, const std::optional<double>& after, uint32_t& count,
                  double& old_sum, double& new_sum) {
    if (!before || !after) return;
    ++count;
    old_sum += *before;
    new_sum += *after;
  }
};

using Tallies = std::map<std::string, Tally>;

std::vector<Change> take(Tallies& tallies) {
  std::vector<Change> out;
  for (auto& [name, tally] : tallies) out.push_back(tally.take(name));
  return out;
}

std::string or_dash(const std::string& text) { return text.empty() ? "-" : text; }

// ---- Text

std::string seconds_text(double s) { return format_offset(base::seconds(std::llround(s))); }

std::string rows_text(std::string_view title, const std::vector<Change>& changes) {
  std::string out = fmt::format("{:<16}{:>8}{:>8}{:>8}  {:>12}{:>12}  {:>12}{:>12}\n", title, "JOBS", "GAIN", "LOSE",
                                "WAIT", "NOW", "COMPLETION", "NOW");
  for (const Change& c : changes)
    out += fmt::format("{:<16}{:>8}{:>8}{:>8}  {:>12}{:>12}  {:>12}{:>12}\n", or_dash(c.name), c.jobs, c.gain, c.lose,
                       seconds_text(c.old_wait_s), seconds_text(c.new_wait_s), seconds_text(c.old_completion_s),
                       seconds_text(c.new_completion_s));
  return out;
}

std::string loser_text(const Loser& l) {
  const std::string who = fmt::format("{} (user {}, QOS {}, {} GPUs)", l.before.job, or_dash(l.before.user),
                                      or_dash(l.before.qos), l.before.gpus);
  if (std::isinf(l.by_s)) return fmt::format("  {}: no longer {}\n", who, l.before.completion_s ? "ends" : "starts");
  return fmt::format("  {}: {} later\n", who, seconds_text(l.by_s));
}

// ---- JSON

double in_thousandths(double value) { return std::round(value * 1000) / 1000; }

ordered_json to_json(const Change& c) {
  return {{"jobs", c.jobs},
          {"gain", c.gain},
          {"lose", c.lose},
          {"mean_wait_s", {{"old", in_thousandths(c.old_wait_s)}, {"new", in_thousandths(c.new_wait_s)}}},
          {"mean_completion_s",
           {{"old", in_thousandths(c.old_completion_s)}, {"new", in_thousandths(c.new_completion_s)}}}};
}

ordered_json to_json(const std::vector<Change>& changes) {
  ordered_json out = ordered_json::object();
  for (const Change& c : changes) out[c.name] = to_json(c);
  return out;
}

ordered_json to_json(const Loser& l) {
  const auto number = [](const std::optional<double>& v) {
    return v ? ordered_json(in_thousandths(*v)) : ordered_json();
  };
  return {{"job", l.before.job},
          {"user", l.before.user},
          {"qos", l.before.qos},
          {"gpus", l.before.gpus},
          {"wait_s", {{"old", number(l.before.wait_s)}, {"new", number(l.after.wait_s)}}},
          {"completion_s", {{"old", number(l.before.completion_s)}, {"new", number(l.after.completion_s)}}}};
}

}  // namespace

Comparison compare(const std::vector<Stay>& before, const std::vector<Stay>& after) {
  std::map<std::string, const Stay*> now;
  for (const Stay& s : after) now[s.job] = &s;
  Tally all;
  Tallies users, qos, sizes;
  Comparison out;
  for (const Stay& old : before) {
    const auto it = now.find(old.job);
    if (it == now.end()) continue;
    for (Tally* tally : {&all, &users[old.user], &qos[old.qos], &sizes[size_name(old.gpus)]})
      tally->add(old, *it->second);
    if (const double by = later(old, *it->second); by >= kSame) out.losers.push_back({old, *it->second, by});
  }
  out.all = all.take("all");
  out.by_user = take(users);
  out.by_qos = take(qos);
  out.by_size = take(sizes);
  std::sort(out.by_size.begin(), out.by_size.end(),
            [](const Change& a, const Change& b) { return size_rank(a.name) < size_rank(b.name); });
  std::stable_sort(out.losers.begin(), out.losers.end(),
                   [](const Loser& a, const Loser& b) { return a.by_s > b.by_s; });
  constexpr size_t kShown = 10;
  if (out.losers.size() > kShown) out.losers.resize(kShown);
  return out;
}

std::vector<Stay> stays_of(const std::vector<SimJob>& jobs, const std::vector<Record>& records,
                           const std::vector<std::string>& users) {
  const auto seconds = [](Duration d) { return static_cast<double>(d.us) / 1e6; };
  std::vector<Stay> out;
  for (size_t i = 0; i < jobs.size(); ++i) {
    const sched::PendingJob& job = jobs[i].job;
    Stay stay{jobs[i].name, users[i], job.qos, model::total_gpus(job.request, job.request.min_nodes), {}, {}};
    for (const sched::Component& c : job.components) stay.gpus += model::total_gpus(c.request, c.request.min_nodes);
    const Record& r = records[i];
    if (r.started) stay.wait_s = seconds(r.waited);
    if (r.phase == Phase::kEnded) stay.completion_s = seconds(r.ended - r.submitted);
    out.push_back(std::move(stay));
  }
  return out;
}

std::vector<Stay> stays_of(const std::vector<forecast::JobForecast>& forecasts) {
  std::vector<Stay> out;
  for (const forecast::JobForecast& f : forecasts) {
    Stay stay{f.id.text(), std::to_string(f.uid), f.qos, f.gpus, {}, {}};
    if (f.started) stay.wait_s = static_cast<double>((f.started - f.submitted).us) / 1e6;
    if (f.ended) stay.completion_s = static_cast<double>((f.ended - f.submitted).us) / 1e6;
    out.push_back(std::move(stay));
  }
  return out;
}

std::string comparison_text(const Comparison& c) {
  std::string out = fmt::format("{}: {} gain, {} lose, {} stay as they are\n", base::counted(c.all.jobs, "job"),
                                c.all.gain, c.all.lose, c.all.jobs - c.all.gain - c.all.lose);
  out +=
      rows_text("", {c.all}) + rows_text("USER", c.by_user) + rows_text("QOS", c.by_qos) + rows_text("GPUS", c.by_size);
  if (!c.losers.empty()) out += "worst losers\n";
  for (const Loser& l : c.losers) out += loser_text(l);
  return out;
}

std::string comparison_json(const Comparison& c) {
  ordered_json out = {{"schema_version", 1},           {"all", to_json(c.all)},
                      {"by_user", to_json(c.by_user)}, {"by_qos", to_json(c.by_qos)},
                      {"by_size", to_json(c.by_size)}, {"worst_losers", ordered_json::array()}};
  for (const Loser& l : c.losers) out["worst_losers"].push_back(to_json(l));
  return out.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace gw::sim
