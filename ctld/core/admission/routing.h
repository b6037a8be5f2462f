// Which partitions a job may go to, and whether it could ever run there.
#pragma once

#include "ctld/core/core.h"

namespace gw::ctld {

/// Where a job goes that names no partition: pools for jobs of its kind, else the default one.
void choose_partitions(const Core& core, model::JobSpec& spec);
/// May the caller use all partitions of the job, and may its QOS, where that is one? Errors: all that are wrong.
/// `before`: what it was, so that where it is already is no news.
base::Status route(const Core& core, const Caller& caller, model::JobSpec& spec, bool is_qos_known = true,
                   const model::JobSpec* before = nullptr);
/// No time at all is what a submission says that asks for none: the partition's default. kUnlimited was asked for.
base::Status check_time(const Core& core, model::JobSpec& spec, bool is_admin);
/// Error: the job could never run in any of its partitions, even on an empty cluster.
base::Status check_runnable(const Core& core, const model::JobSpec& spec);

}  // namespace gw::ctld
