// greport lending: what QOS borrowed and lent in a time.
#pragma once

#include "cmds/greport/report_options.h"
#include "cmds/shared/commands.h"

namespace gw::cmds {

/// `words`: start= and end=.
int report_lending(const client::Program& program, ReportOptions& o, Args words, base::Time now);

}  // namespace gw::cmds
