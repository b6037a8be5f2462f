// States and codes of tasks.
#include "attach/step/task_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <utility>

namespace gw::attach {

std::string ranges(const std::vector<uint32_t>& numbers) {
  std::string text;
  for (size_t i = 0; i < numbers.size();) {
    size_t j = i;
    while (j + 1 < numbers.size() && numbers[j + 1] == numbers[j] + 1) ++j;
    if (!text.empty()) text += ',';
    text += j > i ? fmt::format("{}-{}", numbers[i], numbers[j]) : std::to_string(numbers[i]);
    i = j + 1;
  }
  return text;
}

std::string tasks_text(const std::vector<uint32_t>& ranks) {
  return (ranks.size() == 1 ? "task " : "tasks ") + ranges(ranks);
}

void TaskTable::on_started(uint32_t rank) {
  if (rank < tasks_.size() && tasks_[rank].state == State::kWaiting) tasks_[rank].state = State::kRunning;
}

void TaskTable::on_ended(uint32_t rank, uint8_t code, uint8_t signal) {
  if (rank >= tasks_.size() || tasks_[rank].state > State::kRunning) return;
  tasks_[rank] = {signal > 0 ? State::kSignalled : code > 0 ? State::kFailed : State::kExited, code, signal};
  ++ended_;
  if (code != 0 || signal != 0) bad_[{node_of_[rank], code, signal}].push_back(rank);
}

int TaskTable::exit_code() const {
  int worst = 0;
  for (const Task& t : tasks_) worst = std::max(worst, t.signal > 0 ? 128 + t.signal : int{t.code});
  return worst;
}

int TaskTable::own_exit_code() const {
  int worst = 0;
  for (const Task& t : tasks_)
    if (t.signal != SIGTERM && t.signal != SIGKILL)
      worst = std::max(worst, t.signal != 0 ? 128 + t.signal : int{t.code});
  return worst;
}

std::vector<std::string> TaskTable::state_lines(const std::string& step) const {
  constexpr std::array kWords = {"not started", "running", "exited", "exited abnormally", "ended by a signal"};
  std::vector<std::string> lines;
  for (size_t state = 0; state < kWords.size(); ++state) {
    std::vector<uint32_t> ranks;
    for (uint32_t rank = 0; rank < tasks_.size(); ++rank)
      if (!node_of_[rank].empty() && static_cast<size_t>(tasks_[rank].state) == state) ranks.push_back(rank);
    if (!ranks.empty()) lines.push_back(fmt::format("step:{} {}: {}", step, tasks_text(ranks), kWords[state]));
  }
  return lines;
}

std::vector<std::string> TaskTable::take_bad_ends() {
  std::vector<std::string> lines;
  for (auto& [how, ranks] : std::exchange(bad_, {})) {
    const auto& [node, code, signal] = how;
    std::sort(ranks.begin(), ranks.end());
    const char* word = signal > 0 ? strsignal(signal) : nullptr;
    lines.push_back(fmt::format("{}: {}: {}", node, tasks_text(ranks),
                                signal > 0 ? std::string(word == nullptr ? "ended by a signal" : word)
                                           : fmt::format("Exited with exit code {}", code)));
  }
  return lines;
}

}  // namespace gw::attach
