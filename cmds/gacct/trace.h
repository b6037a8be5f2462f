// gacct trace: records as a trace that `gangway simulate` replays.
#pragma once

#include "cmds/gacct/acct_options.h"
#include "cmds/shared/commands.h"

namespace gw::cmds {

int write_trace(const client::Program& program, Args words, const RecordOptions& o);

}  // namespace gw::cmds
