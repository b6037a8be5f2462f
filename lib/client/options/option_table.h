// One declarative table of options per command. It drives parsing by the rules of getopt_long, script directives,
// environment input, --help, --usage, man pages and shell completion, so that none of them can disagree.
// Invariants: names in a table are unique; handlers run in the order in which options were written; an option without a
// handler is one of Slurm's that is not there, and says so.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "client/conn/program.h"

namespace gw::client {

enum class Arg : uint8_t { kNone, kRequired, kOptional };

/// Takes the value of one use of an option; empty without a value.
using Handler = std::function<base::Status(std::string_view value)>;

/// Flags of an option.
enum : uint8_t {
  kPlain = 0,
  kDirective = 1,  ///< Also allowed in #GBATCH and #SBATCH lines.
  kRaw = 2,        ///< The value may be any bytes; others must be UTF-8.
  kHidden = 4,     ///< Neither in help nor reachable by abbreviation.
  kStop = 8,       ///< Nothing after it is looked at (--help).
  kUnlisted = 16,  ///< Not in help; abbreviations are fine.
};

/// One row of the table. Strings outlive the table (literals).
struct Option {
  std::string_view name;  ///< Long name without dashes; may be empty.
  char letter = 0;        ///< Short name; 0: none.
  Arg arg = Arg::kNone;
  std::string_view value;  ///< What the value is called in help.
  std::string_view help;
  std::string_view env;  ///< Environment input: this after each of the command's prefixes; empty: none.
  uint8_t flags = kPlain;
  Handler handler;  ///< Empty: known, but not supported in this version.
};

/// Rows for options that exist in Slurm but not here.
struct Unsupported {
  std::string_view name;
  char letter = 0;
  Arg arg = Arg::kRequired;
};
void add_unsupported(std::vector<Option>& table, std::span<const Unsupported> rows);

/// Options that are about one thing, by their long names, for help and man page.
struct OptionGroup {
  std::string_view title;  ///< "Size"
  std::vector<std::string_view> options;
};

/// What a shell offers for an operand of a command, or for a value.
enum class Completes : uint8_t { kFiles, kJobs, kNodes, kPartitions, kQos, kReservations, kUsers };

/// What a command's pages say besides its options.
struct CommandDoc {
  std::string_view summary;      ///< One line: "submit a batch script".
  std::string_view synopsis;     ///< Behind the name: "[OPTIONS] SCRIPT [ARGUMENTS]".
  std::string_view description;  ///< Paragraphs, separated by empty lines.
  std::vector<std::pair<std::string_view, std::string_view>> exit_codes;   ///< "0" -> "..."
  std::vector<std::pair<std::string_view, std::string_view>> environment;  ///< Variables beyond option input.
  std::vector<std::pair<std::string_view, std::string_view>> examples;     ///< Command -> what it does.
  std::vector<std::string_view> env_prefixes = {};                         ///< Later ones win: {"SBATCH_", "GBATCH_"}.
  std::vector<std::pair<std::string_view, std::string_view>> verbs = {};   ///< Of a command that has some.
  std::vector<OptionGroup> groups = {};  ///< Empty: one list. What is in none stands behind them.
  Completes operands = Completes::kFiles;
  std::string_view words = {};  ///< What the first operand can be, "show update"; empty: whatever `operands` says.
};

/// How to read an argument list.
struct ParseRules {
  bool stop_at_operand = false;  ///< As `+` in getopt: the first word that is no option ends the options.
  bool directives_only = false;  ///< Options without kDirective are errors, and so are operands.
};

/// Reads `args` (without the program's name) by `table`; returns the operands. Abbreviated long options are fine where
/// unique; `--` ends the options. Errors name the option and come with "did you mean".
base::Result<std::vector<std::string>> parse_options(const std::vector<Option>& table,
                                                     std::span<const std::string> args, ParseRules rules = {});

/// Looks up a variable; null if it is not set.
using GetEnv = std::function<const char*(const char*)>;
/// Runs the handlers of options whose variable is set; of an option's variables the one with the last prefix counts. A
/// flag is set by any value but "0", "no" and "false".
base::Status read_environment(const std::vector<Option>& table, const std::vector<std::string_view>& prefixes,
                              const GetEnv& get);

/// --help, --usage, --version and what generates man page and completion. `letter` may be 0 where -h means something
/// else.
struct CommonFlags {
  bool help = false, usage = false, version = false, man = false, completion = false;
  std::string shell = {};  ///< That the completion is for: "bash", "zsh", "fish".
  bool any() const { return help || usage || version || man || completion; }
};
void add_common_options(std::vector<Option>& table, CommonFlags& flags, char help_letter = 'h');
/// The text that a common flag asks for.
std::string common_text(const CommonFlags& flags, const Program& program, const CommandDoc& doc,
                        const std::vector<Option>& table);

/// How a page of help looks.
struct HelpLook {
  size_t columns = 80;
  bool is_bold = false;  ///< Its headings.
};
/// For the terminal behind standard output; lines that are very long are hard to read.
HelpLook look_of_terminal();
std::string help_text(const Program& program, const CommandDoc& doc, const std::vector<Option>& table,
                      HelpLook look = {});
std::string usage_text(const Program& program, const CommandDoc& doc);
/// Text as roff has it.
std::string roff(std::string_view text);
/// A page of section 1 in roff.
std::string man_page(const Program& program, const CommandDoc& doc, const std::vector<Option>& table);
/// A script for the completion of `shell`: options, and jobs, partitions, nodes and the like of the live cluster where
/// an option or operand names one. Empty: no such shell.
std::string completion_script(std::string_view shell, const Program& program, const CommandDoc& doc,
                              const std::vector<Option>& table);
/// Is it in the pages?
bool is_listed(const Option& option);

/// "-J, --job-name=NAME"
std::string option_label(const Option& option);

}  // namespace gw::client
