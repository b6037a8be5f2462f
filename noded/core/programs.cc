// See programs.h.
#include "noded/core/programs.h"

#include <string>

#include "noded/core/job_env.h"

namespace gw::noded {

bool begin_prolog(Core& core, Run& run, const UserInfo& user) {
  const NodeFacts& node = core.config.node;
  for (std::string& line : program_environment(node, *run.prepare, user, core.now))
    run.record.add_program_env(std::move(line));
  if (node.prolog.empty()) return false;
  run.stage = Stage::kProlog;
  run.record.set_in_prolog(true);
  core.out.add(RunProgram{run.record, NodeProgram::kProlog});
  return true;
}

bool begin_epilog(Core& core, Run& run) {
  if (run.record.program_env().empty() || core.config.node.epilog.empty()) return false;
  run.stage = Stage::kEpilog;
  run.deadline = base::Time::never();
  run.record.clear_in_prolog();
  run.record.set_in_epilog(true);
  core.out.add(RunProgram{run.record, NodeProgram::kEpilog});
  run.record.clear_program_env();
  return true;
}

}  // namespace gw::noded
