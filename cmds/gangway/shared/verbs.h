// The verbs of `gangway`, and what they share: how one is found and its options are read.
// Invariant: every verb has --help; exit codes are 0 for success and 1 for failure unless its help says more.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "client/conn/program.h"
#include "client/options/option_table.h"

namespace gw::cmds {

/// What a verb gets: how it was called ("gangway dev up"), and the words behind its name.
struct Invocation {
  client::Program program;
  std::span<const std::string> args;
};

struct Verb {
  std::string_view name;
  std::string_view arguments;  ///< For the overview.
  std::string_view summary;
  int (*run)(const Invocation&);
};

/// Looks `args[0]` up in `verbs` and runs it. Without arguments or for --help it shows the overview; an unknown verb is
/// an error with "did you mean" and the list.
int run_verb(const client::Program& program, std::string_view summary, std::span<const Verb> verbs,
             std::span<const std::string> args);

/// Parses a verb's options, adding --help and its like. Returns the exit code if there is nothing left to do (a page
/// was shown, or an error printed); else fills in `operands`.
std::optional<int> parse_verb(const Invocation& call, const client::CommandDoc& doc, std::vector<client::Option> table,
                              std::vector<std::string>& operands, client::ParseRules rules = {});

/// An option that sets `target`.
client::Option flag(std::string_view name, char letter, std::string_view help, bool& target);
/// An option whose value, not empty, goes to `target`.
client::Option text_option(std::string_view name, char letter, std::string_view value, std::string_view help,
                           std::string& target);

/// Prints the error; returns the exit code.
int failed(const client::Program& program, const base::Error& error);

int backup_verb(const Invocation& call);
int checkpointed_verb(const Invocation& call);
int config_verb(const Invocation& call);
int dev_verb(const Invocation& call);
int doctor_verb(const Invocation& call);
int import_verb(const Invocation& call);
int logs_verb(const Invocation& call);
int offers_verb(const Invocation& call);
int progress_verb(const Invocation& call);
int quota_verb(const Invocation& call);
int simulate_verb(const Invocation& call);
int token_verb(const Invocation& call);
int top_verb(const Invocation& call);
int topo_verb(const Invocation& call);
int watch_verb(const Invocation& call);
int why_verb(const Invocation& call);

}  // namespace gw::cmds
