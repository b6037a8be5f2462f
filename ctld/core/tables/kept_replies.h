// The answers to changes, kept for clients that ask again because the answer was lost. Pure.
// Invariants: an answer is kept for kLeastKept whatever happens, and for kReplyMemory where there is room; what one
// user has kept is bounded in number and bytes, but for one answer that may go beyond.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/time.h"

namespace gw::ctld {

/// How long the answer to a change is kept for a client that asks again, and how long at least.
constexpr base::Duration kReplyMemory = base::hours(1);
constexpr base::Duration kLeastKept = base::minutes(2);

class KeptReplies {
 public:
  struct Limits {
    size_t count = 0;  ///< Of one user.
    size_t bytes = 0;  ///< Of one user, ids included.
  };
  explicit KeptReplies(Limits limits) : limits_(limits) {}

  /// What is above tighter limits goes with the next answer that is kept.
  void set_limits(Limits limits) { limits_ = limits; }

  /// The answer that was given; null if none is known.
  const std::string* find(uint32_t uid, const std::string& client_id) const;
  /// How long it takes until this user's next answer can be kept; zero: no time.
  base::Duration wait_for_room(base::Time now, uint32_t uid) const;
  /// Keeps an answer. Gives the ids of older ones of the user that had to go; with `is_exempt` also of those that were
  /// not kept for kLeastKept yet.
  std::vector<std::string> keep(base::Time now, uint32_t uid, const std::string& client_id, std::string reply,
                                bool is_exempt = false);
  void forget_before(base::Time before);
  /// When the oldest was given; never() if there is none.
  base::Time oldest() const;

 private:
  struct Of {
    std::unordered_map<std::string, std::string> replies;
    std::deque<std::pair<base::Time, std::string>> ages;  // oldest first
    size_t bytes = 0;
    std::string drop_oldest();
  };
  Limits limits_;
  std::map<uint32_t, Of> users_;

  bool is_over(const Of& of) const { return of.ages.size() > limits_.count || of.bytes > limits_.bytes; }
};

}  // namespace gw::ctld
