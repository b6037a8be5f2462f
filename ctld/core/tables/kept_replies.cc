// See kept_replies.h.
#include "ctld/core/tables/kept_replies.h"

#include <algorithm>

namespace gw::ctld {

const std::string* KeptReplies::find(uint32_t uid, const std::string& client_id) const {
  const auto of = users_.find(uid);
  if (of == users_.end()) return nullptr;
  const auto it = of->second.replies.find(client_id);
  return it == of->second.replies.end() ? nullptr : &it->second;
}

base::Duration KeptReplies::wait_for_room(base::Time now, uint32_t uid) const {
  const auto it = users_.find(uid);
  if (it == users_.end()) return {};
  const Of& of = it->second;
  if (of.ages.size() < limits_.count && of.bytes < limits_.bytes) return {};
  return std::max(of.ages.front().first + kLeastKept - now, base::Duration{0});
}

std::vector<std::string> KeptReplies::keep(base::Time now, uint32_t uid, const std::string& client_id,
                                           std::string reply, bool is_exempt) {
  std::vector<std::string> gone;
  Of& of = users_[uid];
  const size_t bytes = client_id.size() + reply.size();
  const auto [it, is_new] = of.replies.try_emplace(client_id);
  if (!is_new) return gone;
  it->second = std::move(reply);
  of.bytes += bytes;
  of.ages.emplace_back(now, client_id);
  while (of.ages.size() > 1 && is_over(of) && (is_exempt || of.ages.front().first + kLeastKept <= now))
    gone.push_back(of.drop_oldest());
  return gone;
}

std::string KeptReplies::Of::drop_oldest() {
  std::string id = std::move(ages.front().second);
  ages.pop_front();
  const auto it = replies.find(id);
  bytes -= id.size() + it->second.size();
  replies.erase(it);
  return id;
}

void KeptReplies::forget_before(base::Time before) {
  for (auto it = users_.begin(); it != users_.end();) {
    Of& of = it->second;
    while (!of.ages.empty() && of.ages.front().first <= before) of.drop_oldest();
    it = of.ages.empty() ? users_.erase(it) : std::next(it);
  }
}

base::Time KeptReplies::oldest() const {
  base::Time oldest = base::Time::never();
  for (const auto& [uid, of] : users_) oldest = std::min(oldest, of.ages.front().first);
  return oldest;
}

}  // namespace gw::ctld
