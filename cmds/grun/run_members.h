// The steps of one call. A step lies in one job, and what it asks for is the same for all of its tasks; so a call whose
// parts lie in several components of a heterogeneous job, or ask for different things, has a step for each, its
// members. They are launched as one: one range of ranks, one world of MPI, one end.
// Invariant: members, and the parts of each, come in the order of their ranks.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cmds/grun/run_launch.h"
#include "cmds/grun/run_options.h"
#include "cmds/grun/run_parts.h"
#include "model/step.h"

namespace gw::cmds {

/// A program, for so many tasks of a step.
struct StepPart {
  uint32_t tasks = 1;  ///< Of the only one: all, however many there will be.
  std::vector<std::string> command;
};

struct MemberStep {
  RunOptions options;
  JobFacts job;             ///< The allocation; id 0: a new one is asked for.
  bool knows_size = true;   ///< Of the allocation; otherwise the controller is asked.
  model::StepRequest step;  ///< Not yet, unless the size is known.
  std::vector<StepPart> parts;
};

/// A part that says nothing but its number of tasks belongs to the step of the part before, unless the job has several
/// components: then part K runs in component K, where no --het-group says otherwise, and each of several components has
/// a member. Errors: a component that is not there; what does not go with several members.
base::Result<std::vector<MemberStep>> members_of(std::vector<CallPart> parts, const client::GetEnv& get);

/// What each of the tasks runs, by rank; or one command for all. `steps`: of the members.
Commands commands_of(const std::vector<MemberStep>& members, const std::vector<wire::Step>& steps);

}  // namespace gw::cmds
