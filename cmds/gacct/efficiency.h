// gacct efficiency (seff): how much of what a job had it used.
#pragma once

#include "cmds/gacct/acct_options.h"
#include "cmds/shared/commands.h"

namespace gw::cmds {

int show_efficiency(const client::Program& program, Args ids, const RecordOptions& o);

}  // namespace gw::cmds
