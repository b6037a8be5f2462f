// What users who are no administrators may not see of others: `private:` in the configuration. Pure.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gw::model {

struct PrivateData {
  bool jobs = false;   ///< Jobs, their steps and records.
  bool users = false;  ///< Who else there is: names in lists of users, and who did something.
  bool usage = false;  ///< What others had of the cluster: sums, shares, budgets.
  bool nodes = false;  ///< Names and states of nodes on which nothing of one's own runs.

  bool any() const { return jobs || users || usage || nodes; }
  bool operator==(const PrivateData&) const = default;
};

inline constexpr std::array<std::pair<std::string_view, bool PrivateData::*>, 4> kPrivateKinds = {
    {{"jobs", &PrivateData::jobs},
     {"users", &PrivateData::users},
     {"usage", &PrivateData::usage},
     {"nodes", &PrivateData::nodes}}};

/// Those of the words that are kinds; the others say nothing.
inline PrivateData private_data_of(const std::vector<std::string>& words) {
  PrivateData out;
  for (const std::string& word : words)
    for (const auto& [name, member] : kPrivateKinds) out.*member |= word == name;
  return out;
}
inline bool is_private_kind(std::string_view word) {
  for (const auto& [name, member] : kPrivateKinds)
    if (name == word) return true;
  return false;
}

}  // namespace gw::model
