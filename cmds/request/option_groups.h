// How the options of gbatch, galloc and grun are grouped in their pages.
// Invariant: every option that the pages list stands in one group (a test), but for those that every command has.
#pragma once

#include <vector>

#include "client/options/option_table.h"

namespace gw::cmds {

std::vector<client::OptionGroup> job_option_groups();

}  // namespace gw::cmds
