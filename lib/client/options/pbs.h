// #PBS lines as options of gbatch, for PBS Pro and Torque alike.
// Invariant: nothing stops a script that only informs, mails or tunes; what is left out becomes an option that says so.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace gw::client {

/// The option that translate_pbs() makes of what it leaves out, without dashes: its value is what was written.
constexpr std::string_view kPbsLeftOut = "pbs-left-out";

/// Errors: a word that is no option; a value that is missing or malformed; what would make another job of it (-I,
/// chunks of several kinds).
base::Result<std::vector<std::string>> translate_pbs(const std::vector<std::string>& words);

}  // namespace gw::client
