// See waits.h.
#include "sim/waits.h"

#include <fmt/format.h>

#include <algorithm>

namespace gw::sim {
namespace {

uint32_t upper_end(uint32_t gpus) {
  uint32_t upper = 1;
  while (upper < gpus) upper *= 2;
  return gpus == 0 ? 0 : upper;
}

}  // namespace

std::map<uint32_t, std::vector<double>> waits_by_size(const Replay& replay) {
  std::map<uint32_t, std::vector<double>> groups;
  for (size_t i = 0; i < replay.trace.jobs.size(); ++i) {
    const Record& r = replay.engine->records()[i];
    if (r.phase == Phase::kEnded) groups[upper_end(replay.trace.jobs[i].gpus)].push_back(in_seconds(r.waited));
  }
  for (auto& [group, waits] : groups) std::sort(waits.begin(), waits.end());
  return groups;
}

std::map<std::string, model::WaitSplit> waits_by_qos(const Replay& replay) {
  std::map<std::string, model::WaitSplit> out;
  for (size_t i = 0; i < replay.trace.jobs.size(); ++i) {
    const Record& r = replay.engine->records()[i];
    out[""] += r.waited_for;
    if (const std::string& qos = replay.trace.jobs[i].qos; !qos.empty()) out[qos] += r.waited_for;
  }
  return out;
}

std::string size_words(uint32_t upper) {
  return upper <= 2 ? std::to_string(upper) : fmt::format("{}-{}", upper / 2 + 1, upper);
}

}  // namespace gw::sim
