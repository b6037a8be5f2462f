// Which state a controller works from, and how far that had come at some moment: by it nodes tell a controller whose
// state is older than what they know, or another one, from the one that placed their runs.
// Invariant: a mark that says nothing (a version without marks made it) has an empty root.
#pragma once

#include <cstdint>
#include <string>

namespace gw::model {

struct StateMark {
  std::string root;         ///< Of the store, since it was made: random.
  std::string incarnation;  ///< Of one start of a controller on it: random.
  uint64_t commit = 0;      ///< Counts the changes of the state; never goes back in one store.
  bool says_anything() const { return !root.empty(); }
  bool operator==(const StateMark&) const = default;
};

}  // namespace gw::model
