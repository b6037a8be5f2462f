// See node_program.h.
#include "noded/shell/node_program.h"

#include <spdlog/spdlog.h>
#include <unistd.h>

#include <string_view>

#include "base/text.h"
#include "noded/step/proc/supervise.h"

namespace gw::noded {
namespace {

// gstepd ends it before.
constexpr base::Duration kBeyond = base::seconds(30);

std::string_view last_line(std::string_view text) {
  text = base::trim(text);
  return text.substr(text.rfind('\n') + 1);  // all of it, where there is none
}

}  // namespace

program::ProgramCall node_program_call(const std::string& gstepd, const std::string& program, NodeProgram which,
                                       base::Duration limit) {
  program::ProgramCall call;
  call.program = gstepd;
  call.args = {step::proc::kSupervise, std::to_string(::getpid()), std::to_string(limit.us), program};
  call.limit = limit + kBeyond;
  call.keeps_end = true;
  const std::string context = which == NodeProgram::kProlog ? "prolog" : "epilog";
  call.variables = {"SLURM_SCRIPT_CONTEXT=" + context + "_slurmd", "GANGWAY_SCRIPT_CONTEXT=" + context};
  return call;
}

base::Status run_node_program(const program::ProgramCall& call) {
  const program::ProgramResult result = program::run_program(call);
  if (result.exit_code == 0) return {};
  for (const std::string& line : base::split(base::trim(result.text), '\n'))
    spdlog::error("{} prints: {}", call.args.back(), base::printable(line, 500));
  const std::string line(last_line(result.text));
  return base::fail(base::ErrorCode::kInternal, "exit code " + std::to_string(result.exit_code) +
                                                    (line.empty() ? "" : ": " + base::printable(line, 200)));
}

}  // namespace gw::noded
