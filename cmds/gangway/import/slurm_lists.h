// The lists of slurm.conf and its like: nodes, partitions, switches, generic resources.
#pragma once

#include "base/result.h"
#include "cmds/gangway/import/work.h"

namespace gw::cmds::import {

/// Errors, with their places: host lists and numbers that are none. Unknown keys go to the work's problems.
base::Status read_node(Work& work, const Line& line);
base::Status read_node_set(Work& work, const Line& line);
base::Status read_partition(Work& work, const Line& line);
base::Status read_switch(Work& work, const Line& line);
base::Status read_gres(Work& work, const Line& line);

/// What is known only when all has been read.
void finish(Work& work);

}  // namespace gw::cmds::import
