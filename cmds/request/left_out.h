// What was asked for and is not there: told once, when the job is accepted.
// Invariant: an option stands here once; its latest use counts.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gw::cmds {

class LeftOut {
 public:
  /// `option`: its long name, or what was written instead; `why`: what the job is without, a literal.
  void add(std::string_view option, std::string_view why);
  /// A later use of it asks for nothing.
  void remove(std::string_view option);
  /// "left out: --mail-type, --mail-user (no mail is sent); --tmp (...)"; empty: nothing was.
  std::string text() const;

 private:
  std::vector<std::pair<std::string, std::string_view>> options_;  // with why
};

}  // namespace gw::cmds
