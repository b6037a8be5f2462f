// How many mails each user gets, and of whose too many somebody is told. Pure. Invariant: what is remembered of users
// is bounded by those who had a mail, or one too many, within the hour.
#pragma once

#include <cstdint>
#include <map>

#include "base/time.h"
#include "ctld/core/tables/request_rate.h"

namespace gw::ctld {

class MailRate {
 public:
  enum class Answer : uint8_t { kSend, kDrop, kDropAndSay };

  /// May one more go to this user? One that may not is said once in a while. `per_hour` of 0: no bound.
  Answer take(base::Time now, uint32_t uid, uint32_t per_hour) {
    constexpr base::Duration kQuiet = base::minutes(10);
    if (rate_.take(now, uid, {per_hour, per_hour, base::hours(1)}).us == 0) return Answer::kSend;
    std::erase_if(told_, [&](const auto& each) { return now - each.second > kQuiet; });
    return told_.emplace(uid, now).second ? Answer::kDropAndSay : Answer::kDrop;
  }

 private:
  RequestRate rate_;
  std::map<uint32_t, base::Time> told_;  // by uid: when it was said
};

}  // namespace gw::ctld
