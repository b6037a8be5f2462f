// See asked_together.h. The budget is a leaky bucket (Turner, 1986) as the "virtual scheduling" form of ITU-T I.371 has
// it: the moment at which all is paid for, compared with now.
#include "ctld/core/tables/asked_together.h"

#include <algorithm>

namespace gw::ctld {

using base::Time;

AskedTogether::Batch AskedTogether::ask(Time now, const std::string& question, ConnId conn) {
  if (question.empty() || question.size() > kLongestQuestion) return 0;
  auto it = questions_.find(question);
  if (it == questions_.end()) {
    if (!has_room(now)) return 0;
    it = questions_.emplace(question, Question{.paid_until = now}).first;
  }
  Question& asked = it->second;
  asked.paid_until = std::min(asked.paid_until, now + kLongestWait + kLongestWait);  // the clock may have been set back
  if (asked.waiting.empty()) {
    if (asked.due() <= now) return 0;
    asked.batch = ++last_batch_;
  }
  asked.waiting.push_back(conn);
  return asked.batch;
}

void AskedTogether::charge(Time now, const std::string& question, size_t rows) {
  const auto it = questions_.find(question);
  if (it == questions_.end()) return;
  constexpr int64_t kMostRows = 2 * kLongestWait.us / kRow.us;
  const Time most = now + kLongestWait + kLongestWait;
  Time& until = it->second.paid_until;
  until = std::min(most, std::max(until, now) + kRow * std::min(kMostRows, static_cast<int64_t>(rows)));
}

Time AskedTogether::next_due() const {
  Time due = Time::never();
  for (const auto& [text, question] : questions_)
    if (!question.waiting.empty()) due = std::min(due, question.due());
  return due;
}

std::vector<AskedTogether::Ready> AskedTogether::take_due(Time now) {
  std::vector<Ready> ready;
  for (auto& [text, question] : questions_) {
    if (question.waiting.empty() || question.due() > now) continue;
    for (const ConnId conn : std::exchange(question.waiting, {})) ready.push_back({conn, question.batch});
  }
  return ready;
}

/// Questions that are paid for are as good as new ones.
bool AskedTogether::has_room(Time now) {
  if (questions_.size() < kMostQuestions) return true;
  std::erase_if(questions_,
                [&](const auto& line) { return line.second.waiting.empty() && line.second.paid_until <= now; });
  return questions_.size() < kMostQuestions;
}

}  // namespace gw::ctld
