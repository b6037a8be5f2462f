// Where the time went that a job waited: by cause, to the microsecond. Invariant: the parts of a split are what was
// waited, no more and no less; a part is there once, in the order of the causes.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"

namespace gw::model {

/// What a job waits for: what would have to be otherwise for it to start. In the order of their numbers; new ones come
/// last.
enum class WaitCause : uint8_t {
  kScheduler,      ///< The scheduler has not said yet why.
  kController,     ///< The controller was away, or is not to know: it was started again meanwhile.
  kHeld,           ///< By its owner or an administrator.
  kBeginTime,      ///< It was submitted for a later time.
  kDependency,     ///< On other jobs.
  kArrayLimit,     ///< As many tasks of its array run as may.
  kQuota,          ///< A limit, a guarantee or a budget of its QOS or user.
  kLicenses,       ///< Others have them.
  kPriority,       ///< Jobs before it are to start first, or room is kept for them.
  kResources,      ///< Less is free than it asks for.
  kFragmentation,  ///< As much is free as it asks for, but no place has it together.
  kLocality,       ///< There is a place, but not as close together as it wants.
  kReservation,    ///< An advance reservation has not begun, or is in the way.
  kNodesDown,      ///< The nodes that are up could not hold it even if they were empty.
  kPartition,      ///< No partition that it names starts it: they are down, or allow less time.
  kLaunch,         ///< A launch failed, or an earlier run has not left its nodes.
};
constexpr WaitCause kLastWaitCause = WaitCause::kLaunch;
constexpr size_t kWaitCauses = static_cast<size_t>(kLastWaitCause) + 1;

struct WaitCauseWords {
  std::string_view name;   ///< As in JSON, metrics and lists.
  std::string_view means;  ///< For people.
};
/// In the order of the causes; docs/reasons.md has them, and a test compares.
inline constexpr std::array<WaitCauseWords, kWaitCauses> kWaitCauseWords = {{
    {"scheduler", "the scheduler had not said yet why"},
    {"controller", "not known: the controller was away, or was started again meanwhile"},
    {"held", "its owner or an administrator held it"},
    {"begin_time", "it was submitted for a later time"},
    {"dependency", "other jobs had to start or end first"},
    {"array_limit", "as many tasks of its array as may run did so"},
    {"quota", "a limit, a guarantee or a budget of its QOS or its user was reached"},
    {"licenses", "others had the licences that it asks for"},
    {"priority", "jobs before it were to start first, or room was kept for them"},
    {"resources", "less was free than it asks for"},
    {"fragmentation", "as much was free as it asks for, but no place had it together"},
    {"locality", "there was a place, but not as close together as it wants"},
    {"reservation", "an advance reservation had not begun, was over, or was in the way"},
    {"nodes_down", "the nodes that were up could not have held it even if they had been empty"},
    {"partition", "no partition that it names started it: they were down, or allow less time"},
    {"launch", "a launch had failed, or an earlier run had not left its nodes"},
}};
constexpr std::string_view name(WaitCause cause) { return kWaitCauseWords[static_cast<size_t>(cause)].name; }

/// Time by cause. Parts may be negative while splits are taken from each other.
class WaitSplit {
 public:
  struct Part {
    WaitCause cause = WaitCause::kScheduler;
    base::Duration time = {};
    bool operator==(const Part&) const = default;
  };

  void add(WaitCause cause, base::Duration time) {
    if (time.us == 0) return;
    const auto at = std::lower_bound(parts_.begin(), parts_.end(), cause,
                                     [](const Part& part, WaitCause other) { return part.cause < other; });
    if (at == parts_.end() || at->cause != cause) {
      parts_.insert(at, Part{cause, time});
      return;
    }
    at->time = at->time + time;
    if (at->time.us == 0) parts_.erase(at);
  }
  WaitSplit& operator+=(const WaitSplit& other) {
    for (const Part& part : other.parts_) add(part.cause, part.time);
    return *this;
  }
  WaitSplit& operator-=(const WaitSplit& other) {
    for (const Part& part : other.parts_) add(part.cause, base::Duration{-part.time.us});
    return *this;
  }
  /// None of them is zero.
  const std::vector<Part>& parts() const { return parts_; }
  base::Duration of(WaitCause cause) const {
    for (const Part& part : parts_)
      if (part.cause == cause) return part.time;
    return {};
  }
  /// All that was waited.
  base::Duration total() const {
    base::Duration sum = {};
    for (const Part& part : parts_) sum = sum + part.time;
    return sum;
  }
  bool empty() const { return parts_.empty(); }
  /// In whole seconds that add up to those of all of it; without parts that come to none.
  std::vector<std::pair<WaitCause, int64_t>> in_seconds() const;
  /// Kept for long: takes no more memory than it needs.
  void shrink() { parts_.shrink_to_fit(); }
  bool operator==(const WaitSplit&) const = default;

 private:
  std::vector<Part> parts_;
};

inline std::vector<std::pair<WaitCause, int64_t>> WaitSplit::in_seconds() const {
  constexpr int64_t kSecond = 1'000'000;
  std::vector<std::pair<WaitCause, int64_t>> out;
  std::vector<std::pair<int64_t, size_t>> rests;  // the largest first
  int64_t missing = total().us / kSecond;
  for (const Part& part : parts_) {
    rests.emplace_back(-(part.time.us % kSecond), out.size());
    out.emplace_back(part.cause, part.time.us / kSecond);
    missing -= out.back().second;
  }
  std::sort(rests.begin(), rests.end());
  for (size_t i = 0; i < rests.size() && missing > 0; ++i, --missing) ++out[rests[i].second].second;
  std::erase_if(out, [](const auto& part) { return part.second == 0; });
  return out;
}

}  // namespace gw::model
