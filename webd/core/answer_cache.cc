// See answer_cache.h.
#include "webd/core/answer_cache.h"

#include <algorithm>
#include <utility>

namespace gw::webd {

bool AnswerCache::is_fresh(const Entry& entry, base::Duration now) const {
  return now - entry.at < (entry.is_history ? bounds_.history_fresh : bounds_.fresh);
}

uint64_t AnswerCache::ask(const std::string& key, base::Duration now, DoneFn done) {
  Entry& entry = entries_[key];
  if (entry.text != nullptr && is_fresh(entry, now)) {
    const Text text = entry.text;
    done(text);
    return 0;
  }
  if (entry.text != nullptr) bytes_ -= entry.text->plain.size();
  entry.text = nullptr;
  const bool is_made = !entry.waiting.empty() && !entry.is_old;
  entry.waiting.push_back(std::move(done));  // who waits for an old one gets the new one, too
  if (is_made) return 0;
  entry.is_old = false;
  return entry.number = ++last_number_;
}

void AnswerCache::forget(const std::string& prefix) {
  for (auto it = entries_.lower_bound(prefix); it != entries_.end() && it->first.starts_with(prefix);) {
    it->second.is_old = it->second.text == nullptr;
    if (it->second.text == nullptr || it->second.is_history) {
      ++it;
      continue;
    }
    bytes_ -= it->second.text->plain.size();
    it = entries_.erase(it);
  }
}

void AnswerCache::made(const std::string& key, uint64_t number, base::Duration now,
                       const base::Result<std::string>& answer, bool is_history) {
  const auto it = entries_.find(key);
  if (it == entries_.end() || it->second.text != nullptr || it->second.number != number) return;
  const bool is_old = it->second.is_old;
  const std::vector<DoneFn> waiting = std::exchange(it->second.waiting, {});
  base::Result<Text> told = tl::unexpected(base::Error{});
  if (answer) {
    it->second.text = std::make_shared<const Answered>(Answered{*answer});
    it->second.at = now;
    it->second.is_history = is_history;
    bytes_ += answer->size();
    told = it->second.text;
    if (is_old && !is_history) {
      bytes_ -= answer->size();
      entries_.erase(it);
    }
  } else {
    told = tl::unexpected(answer.error());
    entries_.erase(it);
  }
  forget_old(now);
  for (const DoneFn& done : waiting) done(told);
}

void AnswerCache::forget_old(base::Duration now) {
  const auto drop = [this](auto it) {
    bytes_ -= it->second.text->plain.size();
    return entries_.erase(it);
  };
  for (auto it = entries_.begin(); it != entries_.end();)
    it = it->second.text != nullptr && !is_fresh(it->second, now) ? drop(it) : std::next(it);
  while (entries_.size() > bounds_.most || bytes_ > bounds_.most_bytes) {
    auto oldest = entries_.end();
    for (auto it = entries_.begin(); it != entries_.end(); ++it)
      if (it->second.text != nullptr && (oldest == entries_.end() || it->second.at < oldest->second.at)) oldest = it;
    if (oldest == entries_.end()) return;
    drop(oldest);
  }
}

}  // namespace gw::webd
