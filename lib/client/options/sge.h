// Options of Grid Engine's qsub, on #$ lines and on its command line, as options of gbatch.
// Invariants: nothing stops a script that only informs, mails or tunes; what is left out becomes an option that says
// so. Words for gbatch of which nothing in gbatch(1) speaks are those of cmds/request/queue_options.h.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"

namespace gw::client {

/// Errors: a word that is no option; a value that is missing or malformed.
base::Result<std::vector<std::string>> translate_sge(const std::vector<std::string>& words);

/// "-a -A -ac ...": every option.
std::string sge_option_names();
/// How many of the words are options, with their values; behind them stand the script and its arguments. Errors: an
/// unknown option, since nobody knows whether it has a value.
base::Result<size_t> count_sge_options(const std::vector<std::string>& words);

}  // namespace gw::client
