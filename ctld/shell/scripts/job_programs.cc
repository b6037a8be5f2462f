// See job_programs.h.
#include "ctld/shell/scripts/job_programs.h"

#include <string>
#include <utility>

#include "base/time.h"

namespace gw::ctld {

namespace {

/// Two that hang may come before one, and gscriptd may be restarted meanwhile.
base::Duration patience_of(const config::Config& config) { return config.job_program_limit * 3 + base::minutes(1); }

std::string known_of(const config::Config& config) {
  return config.job_prolog + '\n' + config.job_epilog + '\n' + base::format_duration(config.job_program_limit);
}

ProgramEnd end_of(const base::Result<wire::FromScripts>& answer) {
  if (!answer) return {false, -1, answer.error().text()};
  return {answer->exit_code() >= 0, answer->exit_code(), answer->output()};
}

}  // namespace

JobPrograms::JobPrograms(io::Loop& loop, const config::Config& config)
    : queue_(loop, config::script_socket(config), "prolog or epilog",
             {kMostWaiting, kMostWaiting, kMostUnderWayOfUser, kMostUnderWay, patience_of(config), true}),
      known_(known_of(config)) {}

void JobPrograms::set(const config::Config& config) {
  queue_.set_patience(patience_of(config));
  if (std::exchange(known_, known_of(config)) != known_) queue_.reload();  // over the link that they take
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
  if (!queue_.add(what.uid, std::move(message), [done](const auto& answer) { done(end_of(answer)); }))
    done({false, -1, "too many programs of jobs wait already"});
}

}  // namespace gw::ctld
