// A line of the shepherd in the output of its job. A child writes it as the user: the file may lie where only he may
// write, and on a file system that hangs.
#pragma once

#include <string>

#include "noded/step/shepherd/step_processes.h"
#include "wire/step.pb.h"

namespace gw::noded::step {

/// "*** JOB 7 ON n0 CANCELLED AT ... ***" of a batch step, "*** STEP 7.0 ..." of another; `cause`: a model::StopCause.
/// Empty: it ends by itself.
std::string words_of_end(const wire::StepSpec& spec, uint32_t cause);

/// Appends "slurmstepd: error: WORDS" (gstepd, where the job was not submitted under Slurm's names) to the file of the
/// step's standard error, if it has one; nobody waits for that. Returns the process that
/// writes it; 0: there is none.
pid_t say_in_output(const wire::StepSpec& spec, const std::string& words, StepProcesses& processes);

}  // namespace gw::noded::step
