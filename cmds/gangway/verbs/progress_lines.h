// What the lines that a job prints say of its progress: "step 120/10000", "iteration 7 of 90". Pure.
#pragma once

#include <optional>
#include <regex>
#include <string>
#include <string_view>

#include "base/result.h"
#include "wire/api.pb.h"

namespace gw::cmds {

/// Lines that a job prints as it works.
class ProgressLines {
 public:
  /// `pattern`: a regular expression (ECMAScript, whatever the case) of which the first group is the step and the
  /// second, if it has one, of how many; empty: "step", "iter", "iteration" or "batch", and numbers like 12, 12/90, 12
  /// of 90. Errors: it is none, or has no group.
  static base::Result<ProgressLines> make(const std::string& pattern);

  /// More of what is printed. Lines end with a line feed, or with a carriage return, as those of progress bars do.
  void read(std::string_view printed);
  /// What the last line said that said anything, once; nullopt: nothing since the last time.
  std::optional<wire::ProgressRequest> take();

 private:
  explicit ProgressLines(std::regex pattern) : pattern_(std::move(pattern)) {}
  void read_line();

  std::regex pattern_;
  std::string line_;  // its beginning, as far as it has been printed
  std::optional<wire::ProgressRequest> last_;
};

}  // namespace gw::cmds
