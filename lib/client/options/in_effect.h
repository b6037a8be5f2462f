// The options of a command as they are in effect, which -v shows: what was given in the environment, in the script and
// on the command line.
// Invariants: an option has the value that its handler took last; what a handler refused is not there.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "client/options/option_table.h"

namespace gw::client {

class OptionsInEffect {
 public:
  /// From now on what the handlers of `table` take is noted here. `this` outlives the table.
  void watch(std::vector<Option>& table);
  /// Takes from `weaker` what is not here.
  void fill(const OptionsInEffect& weaker);
  /// How often the option of this name was given.
  uint32_t count(std::string_view name) const;
  /// Name and value of each, by name. The value of a flag is "set", that of `verbose` how often it was given.
  std::vector<std::pair<std::string, std::string>> shown() const;

 private:
  struct Use {
    std::string value;
    uint32_t times = 0;
    bool is_flag = false;
  };
  std::map<std::string, Use, std::less<>> uses_;
};

/// In Slurm's two manners: those of commands that submit, "name : value" in a frame, each line begins with the
/// program's name; and those of commands that list, "name = value" between two rules.
enum class OptionFrame : uint8_t { kSubmits, kLists };

/// What -v prints on standard error.
std::string options_text(const Program& program, const OptionsInEffect& options, OptionFrame frame);

/// The program, saying as much as so many -v ask for. With one of them prints the options in effect.
Program outspoken(Program program, const OptionsInEffect& options, OptionFrame frame);

}  // namespace gw::client
