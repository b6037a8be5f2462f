// See programs.h.
#include "noded/core/programs.h"

#include <string>
#include <utility>

#include "noded/core/job_env.h"
#include "noded/core/link.h"

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

void tell_unfit(Core& core, const Run& run, NodeProgram which, std::string why) {
  core.out.say(Level::kError, why + " (run " + run.key.text() + ")");
  if (!core.unfit.why().empty()) return;
  core.unfit.set_job(run.key.job);
  core.unfit.set_attempt(run.key.attempt);
  core.unfit.set_by_prolog(which == NodeProgram::kProlog);
  core.unfit.set_why(std::move(why));
  core.out.add(KeepUnfit{core.unfit});
  repeat_unfit(core);
}

void repeat_unfit(Core& core) {
  if (core.unfit.why().empty()) return;
  wire::NodeToController message;
  *message.mutable_unfit() = core.unfit;
  send(core, std::move(message));
}

void on_unfit_heard(Core& core) {
  if (core.unfit.why().empty()) return;
  core.unfit.Clear();
  core.out.add(KeepUnfit{});
}

bool begin_epilog(Core& core, Run& run) {
  if (run.record.program_env().empty() || core.config.node.epilog.empty()) return false;
  run.stage = Stage::kEpilog;
  run.deadline = base::Time::never();
  run.record.clear_in_prolog();
  run.record.set_in_epilog(true);
  if (run.fails_prepare()) *run.record.mutable_failure() = *run.exit;
  core.out.add(RunProgram{run.record, NodeProgram::kEpilog});
  run.record.clear_program_env();
  return true;
}

}  // namespace gw::noded
