// What the scheduler foresees of a waiting job, and why another one is before it: the words of it for messages, JSON
// and people. Invariant: the numbers are those of messages; new ones come last.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace gw::model {

/// When a job starts.
enum class When : uint8_t {
  kUnknown,         ///< Not foreseen: what it lacks has no end, or too many others are before it.
  kNow,             ///< With the next pass; perhaps for others who are preempted at once.
  kOnceOthersLeft,  ///< Others are told to leave for it: they have their grace.
  kPlanned,         ///< A place is kept for it, later.
  kNever,           ///< It would be ended instead: its deadline cannot be met.
};

/// Why another waiting job is before one, which it is kept from delaying.
enum class AheadBy : uint8_t {
  kUnknown,
  kQuota,      ///< Of another QOS, which is served first (rule 3 of docs/quotas.md).
  kTier,       ///< It may go to a partition of a higher tier.
  kPriority,   ///< A higher priority, as submitted or set.
  kOrder,      ///< The order in force puts it first.
  kNice,       ///< A lower nice value.
  kSubmitted,  ///< It was submitted before.
  kNominated,  ///< Others have left, or leave, for it.
};

namespace outlook {

inline constexpr std::array<std::string_view, 5> kWhens = {"unknown", "now", "once_others_left", "planned", "never"};
struct RuleWords {
  std::string_view name, words;
};
inline constexpr std::array<RuleWords, 8> kRules = {{
    {"unknown", "it is before this job"},
    {"quota", "its QOS is served first"},
    {"tier", "it may go to a partition of a higher tier"},
    {"priority", "it has a higher priority"},
    {"order", "the order of the queue puts it first"},
    {"nice", "it has a lower nice value"},
    {"submitted", "it was submitted before"},
    {"nominated", "others have left, or leave, for it"},
}};

}  // namespace outlook

/// "now", "planned": as JSON has it. A number of a later version is unknown.
constexpr std::string_view name(When when) {
  const auto i = static_cast<size_t>(when);
  return outlook::kWhens[i < outlook::kWhens.size() ? i : 0];
}
constexpr std::string_view name(AheadBy rule) {
  const auto i = static_cast<size_t>(rule);
  return outlook::kRules[i < outlook::kRules.size() ? i : 0].name;
}
/// "it was submitted before"
constexpr std::string_view words(AheadBy rule) {
  const auto i = static_cast<size_t>(rule);
  return outlook::kRules[i < outlook::kRules.size() ? i : 0].words;
}

}  // namespace gw::model
