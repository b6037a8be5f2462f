// Components of a heterogeneous job on a command line: `-n1 : -n8 -p cpu`.
// Invariant: what says how many resources, and of what kind, is a component's own; everything else (name, times, ...)
// is said for the whole job, in whatever component it stands.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "client/options/option_table.h"
#include "cmds/request/job_options.h"

namespace gw::cmds {

constexpr size_t kMaxComponents = 128;

/// The command line, taken apart.
struct CommandLine {
  std::vector<std::vector<std::string>> components;  ///< Options of each component, as words.
  std::vector<std::string> operands;                 ///< What stands behind the options of the last.
};
/// Finds the ends of the components by the table; its handlers run. Errors: a bad option, too many components.
base::Result<CommandLine> split_components(const std::vector<client::Option>& table, std::span<const std::string> args);
/// A job has too many of them.
tl::unexpected<base::Error> too_many_components();
/// Takes from `own` what a component has for itself.
void take_resources(BatchOptions& to, const BatchOptions& own);

}  // namespace gw::cmds
