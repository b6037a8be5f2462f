// Values of gbatch's options: read, checked, put into the job. Each error names its option.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "client/options/option_table.h"
#include "cmds/request/gpu_options.h"
#include "cmds/request/left_out.h"
#include "model/job.h"

namespace gw::cmds {

/// A whole number into a field; `option` is for errors.
client::Handler number(uint32_t& field, std::string_view option, int64_t low, int64_t high);
/// A text that may not be empty.
client::Handler text_of_job(std::string& field, std::string_view option);
/// A host list, expanded and sorted; with a slash in it: a file of node names.
client::Handler host_list(std::vector<std::string>& field, std::string_view option);
/// [TYPE:]COUNT.
client::Handler gpus(GpuSpec& spec, std::string_view option);
/// MIN[-MAX]
base::Status set_nodes(model::Request& r, std::string_view value);
/// What an amount of memory is meant for.
enum class MemoryOf { kNode, kCpu, kGpu };
/// SIZE[KMGT]; the three ways replace each other.
base::Status set_memory(model::Request& r, std::string_view value, MemoryOf of);
/// Reads a time limit as a user asks for it: the forms of base::parse_duration, rounded up to minutes. Zero is no
/// limit, as in Slurm, and comes back as kUnlimited.
base::Result<base::Duration> parse_time_limit(std::string_view text);
base::Status set_time(model::JobSpec& spec, std::string_view value);
/// A point in time; one that has passed means at once.
base::Status set_begin(model::JobSpec& spec, std::string_view value, base::Time now);
/// The time that a job may be shortened to, rounded up to minutes.
base::Status set_time_min(model::JobSpec& spec, std::string_view value);
/// A point in time to come.
base::Status set_deadline(model::JobSpec& spec, std::string_view value, base::Time now);
/// The name of one reservation.
base::Status set_reservation(model::JobSpec& spec, std::string_view value);
/// --dependency: checked here, kept as it was written.
base::Status set_dependency(model::JobSpec& spec, std::string_view value);
/// yes, no, true, false, 1, 0, y, n.
base::Result<bool> parse_yes_or_no(std::string_view option, std::string_view value);
/// A nice value; 100 without one.
base::Status set_nice(model::JobSpec& spec, std::string_view value);
/// append or truncate.
base::Status set_open_mode(model::JobSpec& spec, std::string_view value);
/// requeue, cancel or checkpoint.
base::Status set_on_preempt(model::JobSpec& spec, std::string_view value);
/// Without a value: whole nodes. With user or mcs, which are left out, nodes are shared as ever.
base::Status set_exclusive(model::JobSpec& spec, LeftOut& left_out, std::string_view value);
/// A feature expression.
base::Status set_features(model::JobSpec& spec, std::string_view value);

}  // namespace gw::cmds
