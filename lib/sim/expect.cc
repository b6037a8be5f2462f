// See expect.h.
#include "sim/expect.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/hostlist.h"
#include "base/text.h"

namespace gw::sim {
namespace {

using config::JobExpectation;

/// A job, or a component of one: `name+2`.
struct Subject {
  const SimJob* job = nullptr;
  const Record* record = nullptr;
  const model::Allocation* allocation = nullptr;
};

std::string show_nodes(const std::vector<std::string>& nodes) {
  return nodes.empty() ? "nowhere" : "[" + base::join(nodes, ", ") + "]";
}

bool is_moved(const Record& record) {
  return record.ran_at_start && record.phase == Phase::kRunning && record.preemptions == 0 &&
         (record.moves > 0 || !record.is_elastic) &&
         task_nodes(record.allocation) != task_nodes(record.first_allocation);
}

class Checker {
 public:
  Checker(const std::vector<SimJob>& jobs, const std::vector<Record>& records) : jobs_(jobs), records_(records) {}

  void check(const JobExpectation& e) {
    const Subject s = find(e.job);
    const bool is_placed = has_place(*s.record);
    const std::vector<std::string> at = is_placed ? task_nodes(*s.allocation) : std::vector<std::string>{};
    const std::set<std::string> nodes(at.begin(), at.end());
    if (e.state && *e.state != phase_of(*s.record)) tell_state(e, *s.record);
    if (e.at) {
      std::vector<std::string> expected = *e.at;
      std::sort(expected.begin(), expected.end(), base::host_less);
      compare(e, "at", show_nodes(expected), show_nodes(at));
    }
    if (e.nodes) compare(e, "nodes", std::to_string(*e.nodes), std::to_string(nodes.size()));
    if (e.tasks) compare(e, "tasks", std::to_string(*e.tasks), std::to_string(at.size()));
    if (e.started_at) compare(e, "started_at", format_offset(*e.started_at), when(s.record->started));
    if (e.ended_at) compare(e, "ended_at", format_offset(*e.ended_at), when(s.record->ended));
    if (e.partition) compare(e, "partition", *e.partition, is_placed ? s.record->partition : "none");
    if (e.moved) compare(e, "moved", *e.moved ? "true" : "false", is_moved(*s.record) ? "true" : "false");
    if (e.preemptions) compare(e, "preemptions", std::to_string(*e.preemptions), std::to_string(s.record->preemptions));
  }

  void check_whole(const config::Scenario& scenario) {
    const config::Expectations& expect = scenario.expect;
    const auto tell = [&](const std::string& what) { failures_.push_back(scenario.place.says(what)); };
    std::vector<std::string> evicted;
    uint64_t gpus = 0;
    uint32_t moves = 0, preemptions = 0;
    for (size_t i = 0; i < jobs_.size(); ++i) {
      moves += is_moved(records_[i]);
      preemptions += records_[i].preemptions;
      if (!is_evicted(records_[i])) {
        gpus += records_[i].given_back_milli;
        continue;
      }
      evicted.push_back(jobs_[i].name);
      gpus += records_[i].first_allocation.total_gpu_milli() - records_[i].kept.total_gpu_milli();
    }
    if (expect.evicted && !is_same_set(*expect.evicted, evicted))
      tell(fmt::format("evicted: expected [{}], got [{}]", base::join(*expect.evicted, ", "),
                       base::join(evicted, ", ")));
    if (expect.gpus_evicted_max && gpus > uint64_t{*expect.gpus_evicted_max} * model::kWholeGpu)
      tell(fmt::format("gpus_evicted_max: expected at most {}, got {:g}", *expect.gpus_evicted_max,
                       static_cast<double>(gpus) / model::kWholeGpu));
    if (expect.moves_max && moves > *expect.moves_max)
      tell(fmt::format("moves_max: expected at most {}, got {}", *expect.moves_max, moves));
    if (expect.preemptions_max && preemptions > *expect.preemptions_max)
      tell(fmt::format("preemptions_max: expected at most {}, got {}", *expect.preemptions_max, preemptions));
  }

  std::vector<std::string> take() { return std::move(failures_); }

 private:
  const std::vector<SimJob>& jobs_;
  const std::vector<Record>& records_;
  std::vector<std::string> failures_;

  static std::string when(Time t) { return t ? format_offset(t - kStart) : "never"; }

  Subject find(const std::string& name) const {
    const size_t plus = name.find('+');
    const std::string job = name.substr(0, plus);
    const auto it = std::find_if(jobs_.begin(), jobs_.end(), [&job](const SimJob& j) { return j.name == job; });
    const Record& record = records_[static_cast<size_t>(it - jobs_.begin())];
    if (plus == std::string::npos) return {&*it, &record, &record.allocation};
    const size_t part = std::stoul(name.substr(plus + 1));
    return {&*it, &record, &record.components[part - 1]};
  }

  void compare(const JobExpectation& e, std::string_view what, const std::string& expected, const std::string& got) {
    if (expected == got) return;
    failures_.push_back(e.place.says(fmt::format("{}: {}: expected {}, got {}", e.job, what, expected, got)));
  }

  void tell_state(const JobExpectation& e, const Record& record) {
    std::string got(name(phase_of(record)));
    if (record.phase == Phase::kRunning) got += " at " + show_nodes(task_nodes(record.allocation));
    if (!record.why.empty()) got += " (" + record.why + ")";
    compare(e, "state", std::string(name(*e.state)), got);
  }

  static bool is_same_set(std::vector<std::string> a, std::vector<std::string> b) {
    std::sort(a.begin(), a.end());
    std::sort(b.begin(), b.end());
    return a == b;
  }
};

}  // namespace

std::string format_offset(Duration d) {
  int64_t rest = ((d.us < 0 ? -d.us : d.us) + 500'000) / 1'000'000;
  if (rest == 0) return "0s";
  std::string text = d.us < 0 ? "-" : "";
  constexpr std::pair<int64_t, char> kUnits[] = {{86'400, 'd'}, {3'600, 'h'}, {60, 'm'}, {1, 's'}};
  for (const auto& [seconds, letter] : kUnits) {
    if (rest >= seconds) text += fmt::format("{}{}", rest / seconds, letter);
    rest %= seconds;
  }
  return text;
}

std::vector<std::string> task_nodes(const model::Allocation& allocation) {
  std::vector<std::string> nodes;
  for (const model::NodeShare& share : allocation.shares)
    nodes.insert(nodes.end(), std::max(share.tasks, 1u), share.name);
  std::sort(nodes.begin(), nodes.end(), base::host_less);
  return nodes;
}

bool has_place(const Record& record) {
  return record.phase == Phase::kRunning || record.phase == Phase::kEnded || record.is_suspended;
}

config::JobPhase phase_of(const Record& record) {
  if (record.phase == Phase::kRunning) return config::JobPhase::kRunning;
  if (record.is_suspended) return config::JobPhase::kSuspended;
  return record.phase == Phase::kEnded ? config::JobPhase::kEnded : config::JobPhase::kPending;
}

bool is_evicted(const Record& record) {
  return record.ran_at_start && record.preemptions > 0 && record.phase == Phase::kPending;
}

std::vector<std::string> check_expectations(const config::Scenario& scenario, const std::vector<SimJob>& jobs,
                                            const std::vector<Record>& records) {
  Checker checker(jobs, records);
  for (const JobExpectation& e : scenario.expect.jobs) checker.check(e);
  checker.check_whole(scenario);
  return checker.take();
}

}  // namespace gw::sim
