// The options of gbatch.
#pragma once

#include <vector>

#include "client/options/option_table.h"
#include "cmds/request/job_options.h"

namespace gw::cmds {

/// The table; its handlers write into `options`, which must outlive it. `now` anchors --begin and --deadline.
std::vector<client::Option> batch_table(BatchOptions& options, client::CommonFlags& flags, base::Time now);

/// The pages of gbatch.
client::CommandDoc batch_doc();

}  // namespace gw::cmds
