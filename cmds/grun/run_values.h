// Values of grun's options that other commands do not have: read and checked. Each error names its option.
#pragma once

#include <string_view>

#include "base/result.h"
#include "cmds/grun/run_options.h"

namespace gw::cmds {

/// --cpu-bind, --gpu-bind and --mem-bind: words of bind/words.h.
base::Status set_cpu_bind(RunOptions& o, std::string_view value);
base::Status set_gpu_bind(RunOptions& o, std::string_view value);
base::Status set_mem_bind(RunOptions& o, std::string_view value);
/// -m/--distribution, as parse_distribution() takes it.
base::Status set_distribution(RunOptions& o, std::string_view value);
/// The hosts of the tasks of an arbitrary distribution: the lines of SLURM_HOSTFILE, which asks for one by itself, else
/// -w/--nodelist. Errors: there are none, or fewer than tasks.
base::Status read_hosts(RunOptions& o, const client::GetEnv& get);
/// --het-group: numbers of components, as "0,2-3".
base::Status set_het_groups(RunOptions& o, std::string_view value);
/// --mpi: pmix|none|list.
base::Status set_mpi(RunOptions& o, std::string_view value);
/// --jobid: one job, or a task of an array.
base::Status set_job(RunOptions& o, std::string_view value);
/// Of an option whose value is "0" or "1", and which stands for 1 without one.
base::Status set_switch(bool& field, std::string_view value, std::string_view option);

}  // namespace gw::cmds
