// The commands, each of which is in the folder of its name, and what they share: reading options, talking to the
// controller, exit codes.
// Invariant: a command writes its result to stdout and everything else to stderr, and returns an exit code of its man
// page.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "client/conn/connection.h"
#include "client/conn/program.h"
#include "client/options/option_table.h"

namespace gw::cmds {

using Args = std::span<const std::string>;

int run_gbatch(const client::Program& program, Args args);
int run_galloc(const client::Program& program, Args args);
int run_grun(const client::Program& program, Args args);
int run_gbcast(const client::Program& program, Args args);
int run_gattach(const client::Program& program, Args args);
int run_gacct(const client::Program& program, Args args);
int run_seff(const client::Program& program, Args args);
int run_gstat(const client::Program& program, Args args);
int run_gqueue(const client::Program& program, Args args);
int run_gcancel(const client::Program& program, Args args);
int run_ginfo(const client::Program& program, Args args);
int run_gprio(const client::Program& program, Args args);
int run_gcontrol(const client::Program& program, Args args);
int run_gacctmgr(const client::Program& program, Args args);
int run_gshare(const client::Program& program, Args args);
int run_gdiag(const client::Program& program, Args args);
int run_greport(const client::Program& program, Args args);

/// Options read: either operands, or an exit code because the command is done (--help, bad option).
struct Parsed {
  std::optional<int> exit;
  std::vector<std::string> operands;
  uint32_t verbose = 0;  ///< How often --verbose was given.
};
/// Reads the arguments; prints what --help and the like ask for, or the error with a pointer to --help.
Parsed parse_command(const client::Program& program, const client::CommandDoc& doc,
                     const std::vector<client::Option>& table, client::CommonFlags& flags, Args args, int usage_exit,
                     client::ParseRules rules = {});

/// The program, saying as much as was asked for.
client::Program louder(client::Program program, const Parsed& parsed);

/// Prints the error and returns `code`.
int failed(const client::Program& program, const base::Error& error, int code = client::kExitFailed);
/// Prints that the command takes no such word, and what it takes.
int refuse_operand(const client::Program& program, const std::string& word, std::string hint);
/// Prints the text; kExitFailed if stdout takes no more.
int printed(std::string_view text);

/// A further name of an option that the table has, not in help; nothing where it has none.
void also_called(std::vector<client::Option>& table, std::string_view other, std::string_view name);
/// -M/--clusters (and --cluster): takes this cluster's name and "all", whose name then stands in `cluster`, if given.
void add_cluster_option(std::vector<client::Option>& table, std::string* cluster = nullptr);
/// Errors: none of the names (with commas) is that of `cluster`, nor "all". Empty: nothing is asked for.
base::Status check_clusters(const std::string& asked, const std::string& cluster);
/// A handler that sets a flag.
client::Handler sets(bool& flag);
/// A handler that keeps the text.
client::Handler keeps(std::string& text);
/// A handler that splits at commas and appends; empty parts are errors.
client::Handler lists(std::vector<std::string>& list, std::string_view option);

/// Asks and returns the reply; `Kind` is for reading only.
base::Result<wire::ApiReply> ask(const client::Program& program, wire::ApiRequest request);

}  // namespace gw::cmds
