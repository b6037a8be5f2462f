// A job as `qstat -f` has it.
#pragma once

#include <string>

#include "cmds/pbs/attributes.h"
#include "cmds/queue/jobs.h"

namespace gw::cmds::pbs {

/// Q, H, W, R, S, E; of jobs that ended F (PBS Pro) or C (Torque); of an array that has begun B (PBS Pro).
char state_letter(const queue::Row& row, queue::System system);
/// "n0/0*4+n1/0*4", or of Torque "n0/0+n0/1"; empty: it has no nodes.
std::string exec_host(const wire::Job& job, queue::System system);
/// "01:30:00", also of days
std::string clock_text(base::Duration length);
/// "Thu Nov 26 10:00:00 2026"
std::string calendar_text(base::Time time);

/// `variables`: what is known of those that it was submitted with, "PBS_O_HOME=/home/ann,..."; empty: nothing.
Record job_record(const queue::Jobs& jobs, const queue::Row& row, queue::System system,
                  const std::string& variables = {});

}  // namespace gw::cmds::pbs
