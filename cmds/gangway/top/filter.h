// What is typed behind `/`: "user:alice state:running train". Words with a key choose jobs as the options of gqueue
// do; the others, and the same of what is no job, must be somewhere in a row.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "wire/api.pb.h"

namespace gw::cmds::top {

struct Filter {
  std::string text;                ///< As it was typed.
  wire::JobFilter jobs;            ///< Of the words with a key. Without states: those that have not ended.
  std::vector<std::string> words;  ///< The others, in lower case.

  bool is_empty() const { return text.empty(); }
  /// Does each word stand in it?
  bool fits(std::string_view row) const;
};

/// Errors: unknown keys, with those that there are; states, with those that there are.
base::Result<Filter> parse_filter(const std::string& text);

}  // namespace gw::cmds::top
