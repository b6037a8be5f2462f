// Options of Slurm's that mean nothing to this version: whether a job may go without each, and what it is told then.
// Invariants: an option stands either here or among those that have a meaning; a job is told once of all that was left
// out; nobody is told of what was not asked for.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "client/options/option_table.h"
#include "cmds/request/job_options.h"

namespace gw::cmds {

/// The commands that take an option: a sum of these.
enum : uint8_t { kByBatch = 1, kByAlloc = 2, kByRun = 4, kByAll = kByBatch | kByAlloc | kByRun };

/// What becomes of a job that asks for something that is not there.
enum class Without : uint8_t {
  kSame,     ///< Nothing is missing: it is so anyway, or the option only permits something.
  kLess,     ///< It runs without, and is told so.
  kRefused,  ///< It would be another job than was asked for, or its user may not ask for it.
};

struct SlurmOption {
  std::string_view name;
  char letter = 0;
  client::Arg arg = client::Arg::kRequired;
  std::string_view variable;  ///< Behind each prefix of the environment; empty: none.
  uint8_t commands = kByAll;
  Without without = Without::kLess;
  std::string_view why;  ///< What the job is without, or why it does not matter: "no mail is sent".
  /// Errors: a value that is wrong whatever becomes of it. Null: any will do.
  base::Status (*check)(std::string_view option, std::string_view value) = nullptr;
  std::string_view nothing = {};  ///< A value that asks for nothing: "off".
};

std::span<const SlurmOption> slurm_options();

/// Adds those that these commands take. What is left out is noted in `options`, which must outlive the table.
void add_slurm_options(std::vector<client::Option>& table, BatchOptions& options, uint8_t commands);

/// Adds older spellings of options that the table has: "tasks-per-node", "cpu_bind".
void add_older_spellings(std::vector<client::Option>& table);

}  // namespace gw::cmds
