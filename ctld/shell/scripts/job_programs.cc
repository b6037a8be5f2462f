// See job_programs.h.
#include "ctld/shell/scripts/job_programs.h"

#include <string>
#include <utility>

#include "base/time.h"

namespace gw::ctld {

namespace {

/// Some that hang may come before one, also in gscriptd, which may be busy with those of an earlier controller.
base::Duration patience_of(const config::Config& config) { return config.job_program_limit * 3 + base::minutes(1); }
base::Duration answer_of(const config::Config& config) { return config.job_program_limit * 2 + base::minutes(1); }

std::string known_of(const config::Config& config) {
  return config.job_prolog + '\n' + config.job_epilog + '\n' + base::format_duration(config.job_program_limit);
}

ProgramEnd end_of(const base::Result<wire::FromScripts>& answer) {
  if (!answer) {
    const bool is_handed_on = answer.error().code == base::ErrorCode::kInternal;
    return {is_handed_on ? ProgramRun::kUnknown : ProgramRun::kNotTaken, -1, answer.error().text()};
  }
  const ProgramRun run = answer->not_taken()       ? ProgramRun::kNotTaken
                         : answer->exit_code() < 0 ? ProgramRun::kNotStarted
                                                   : ProgramRun::kRan;
  return {run, answer->exit_code(), answer->output()};
}

ScriptQueue::Bounds bounds_of(const config::Config& config, base::Duration patience) {
  return {JobPrograms::kMostOfUser,
          JobPrograms::kMostWaiting,
          JobPrograms::kMostUnderWayOfUser,
          JobPrograms::kMostUnderWay,
          patience,
          answer_of(config),
          true};
}

}  // namespace

JobPrograms::JobPrograms(io::Loop& loop, const config::Config& config)
    : prologs_(loop, config::script_socket(config), "prolog", bounds_of(config, patience_of(config))),
      epilogs_(loop, config::script_socket(config), "epilog", bounds_of(config, base::kUnlimited)),
      known_(known_of(config)) {}

void JobPrograms::set(const config::Config& config) {
  prologs_.set_patience(patience_of(config), answer_of(config));
  epilogs_.set_patience(base::kUnlimited, answer_of(config));
  if (std::exchange(known_, known_of(config)) == known_) return;
  for (ScriptQueue* queue : {&prologs_, &epilogs_}) queue->reload();  // over the links that they take
}

void JobPrograms::run(const RunJobProgram& what, Done done) {
  wire::ToScripts message;
  wire::ScriptJob& job = *message.mutable_job();
  job.set_program(static_cast<uint32_t>(what.program));
  for (const auto& [name, value] : what.variables) {
    wire::ScriptVariable& variable = *job.add_variables();
    variable.set_name(name);
    variable.set_value(value);
  }
  ScriptQueue& queue = what.program == model::JobProgram::kProlog ? prologs_ : epilogs_;
  if (!queue.add(what.uid, std::move(message), [done](const auto& answer) { done(end_of(answer)); }))
    done({ProgramRun::kNotTaken, -1, "too many programs of jobs wait already"});
}

}  // namespace gw::ctld
