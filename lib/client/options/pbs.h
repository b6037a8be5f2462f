// Options of PBS's qsub, on #PBS lines and on its command line, as options of gbatch.
// Invariants: nothing stops a script that only informs, mails or tunes; what is left out becomes an option that says
// so. Words for gbatch of which nothing in gbatch(1) speaks are those of cmds/request/queue_options.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace gw::client {

/// The option that translate_pbs() makes of what it leaves out, without dashes: its value is what was written.
constexpr std::string_view kPbsLeftOut = "pbs-left-out";

/// Whose letters they are: those of all, as sbatch reads #PBS lines, or those of one of the two, which disagree on
/// arrays and on what is an option at all.
enum class PbsKind : uint8_t { kAny, kPro, kTorque };
struct PbsRules {
  PbsKind kind = PbsKind::kAny;
  /// The job is qsub's, not sbatch's: it has the variables and the output files of PBS.
  bool is_qsub = false;
  /// Of the command line: a size (-l nodes=, select=) takes back what the script said of it.
  bool replaces_size = false;
};

/// Errors: a word that is no option; a value that is missing or malformed; what would make another job of it (-I on a
/// line of a script, chunks of several kinds).
base::Result<std::vector<std::string>> translate_pbs(const std::vector<std::string>& words, PbsRules rules = {});

/// How many of the words are options of qsub, with their values; behind them stand the script and its arguments.
size_t count_pbs_options(const std::vector<std::string>& words, PbsKind kind);

}  // namespace gw::client
