// What a command is called and how it talks: prefixes of messages, version line, colour.
// Invariant: output goes to stdout, every message to stderr; no message on success.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace gw::client {

/// The name that a program was called by. Slurm's names bring Slurm's defaults and texts.
struct Program {
  std::string name = "gbatch";
  bool is_slurm = false;
  uint32_t verbose = 0;  ///< How often -v was given; from 2 on requests are told, too.
};

/// From argv[0]: the part after the last slash; Slurm's names begin with `s`.
Program program_from(std::string_view argv0);

/// Opens /dev/null in the place of standard streams that were closed, before anything else is opened there and gets
/// what is printed. Input is then empty; writing to the output fails, and is told.
void hold_standard_streams();

/// The version of Slurm whose commands ours are under its names: programs decide by it.
inline constexpr std::string_view kSlurmVersion = "23.11.4";
/// What `--version` prints: "gangway 0.1.0", or under Slurm's names "slurm 23.11.4 (gangway 0.1.0)".
std::string version_line(const Program& program);

/// "NAME: error: TEXT" on stderr, with the hint in brackets.
void print_error(const Program& program, std::string_view text);
void print_error(const Program& program, const base::Error& error);
/// What went wrong; under Slurm's names Slurm's sentence for it comes first.
std::string said(const Program& program, const base::Error& error);
/// "NAME: TEXT" on stderr.
void print_note(const Program& program, std::string_view text);

/// "NAME: debug:  TEXT" on stderr, if -vv was given.
void print_debug(const Program& program, std::string_view text);

/// Writes all of `text` to stdout. False if it cannot (closed pipe, full disk); the caller exits with a failure.
bool print_out(std::string_view text);

/// Colour: only on a terminal, and not if NO_COLOR is set or TERM is dumb.
bool use_colour(int fd);
/// Columns of the terminal behind `fd`; `otherwise` if it is none.
size_t terminal_columns(int fd, size_t otherwise);

/// Exit codes that every command shares; a command's man page lists its own.
enum ExitCode : int { kExitOk = 0, kExitFailed = 1, kExitUsage = 1, kExitBatchUsage = 255 };

}  // namespace gw::client
