// See programs.h.
#include "noded/core/programs.h"

#include <string>
#include <utility>

#include "noded/core/job_env.h"
#include "noded/core/link.h"

namespace gw::noded {

namespace {

constexpr int kMostUnfit = 16;

void send_unfit(Core& core, const wire::Unfit& unfit) {
  wire::NodeToController message;
  *message.mutable_unfit() = unfit;
  send(core, std::move(message));
}

}  // namespace

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
  if (core.unfit.all_size() >= kMostUnfit) return;  // the node is drained by those already
  wire::Unfit& unfit = *core.unfit.add_all();
  unfit.set_job(run.key.job);
  unfit.set_attempt(run.key.attempt);
  unfit.set_by_prolog(which == NodeProgram::kProlog);
  unfit.set_why(std::move(why));
  core.out.add(KeepUnfit{core.unfit});
  send_unfit(core, unfit);
}

void repeat_unfit(Core& core) {
  for (const wire::Unfit& unfit : core.unfit.all()) send_unfit(core, unfit);
}

void on_unfit_heard(Core& core, const wire::UnfitHeard& message) {
  wire::UnfitList left;
  for (const wire::Unfit& unfit : core.unfit.all()) {
    const bool is_it = unfit.job() == message.job() && unfit.attempt() == message.attempt() &&
                       unfit.by_prolog() == message.by_prolog();
    if (!is_it) *left.add_all() = unfit;
  }
  if (left.all_size() == core.unfit.all_size()) return;
  core.unfit = std::move(left);
  core.out.add(KeepUnfit{core.unfit});
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
