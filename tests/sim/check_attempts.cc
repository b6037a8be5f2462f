// No attempt twice, nor beside another. See check_attempts.h.
#include "tests/sim/check_attempts.h"

namespace gw::sim_cluster {
namespace {

constexpr char kAttempts[] = "no attempt runs twice or beside an earlier one";

}  // namespace

void AttemptChecker::on_begun(const std::string& node, RunKey run) {
  for (const auto& [place, attempt] : live_[run.job])
    if (attempt != run.attempt)
      fail(kAttempts, run.text() + " begins on " + node + " while " + place.second.text() + " lives on " + place.first);
  uint32_t& last = last_[run.job];
  if (run.attempt < last) fail(kAttempts, run.text() + " begins on " + node + " after attempt " + std::to_string(last));
  last = run.attempt;
  const bool is_first =
      run.is_step() ? steps_.insert({node, run}).second : scripts_.insert({run.job, run.attempt}).second;
  if (!is_first) fail(kAttempts, run.text() + " begins a second time, on " + node);
}

void AttemptChecker::on_machine(const Machine& machine) {
  std::set<RunKey> now;
  for (const Machine::Seen& one : machine.seen())
    if (one.has_begun) now.insert(one.run);
  std::set<RunKey>& before = live_on_[machine.name()];
  for (const RunKey& run : before)
    if (!now.contains(run)) live_[run.job].erase({machine.name(), run});
  for (const RunKey& run : now) live_[run.job][{machine.name(), run}] = run.attempt;
  before = std::move(now);
}

}  // namespace gw::sim_cluster
