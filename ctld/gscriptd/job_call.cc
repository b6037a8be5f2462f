// See job_call.h.
#include "ctld/gscriptd/job_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/text.h"
#include "model/job.h"

namespace gw::ctld {
namespace {

constexpr size_t kMostOfJob = 50, kLongestOfJob = 64 << 10;

bool is_name(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return c == '_' || std::isupper(static_cast<unsigned char>(c)) != 0 ||
           std::isdigit(static_cast<unsigned char>(c)) != 0;
  });
}

}  // namespace

base::Result<program::ProgramCall> job_call(const wire::ScriptJob& job, const config::Config& config) {
  const bool is_prolog = job.program() == static_cast<uint32_t>(model::JobProgram::kProlog);
  if (!is_prolog && job.program() != static_cast<uint32_t>(model::JobProgram::kEpilog))
    return base::invalid("there is no such program of a job");
  program::ProgramCall call;
  call.program = is_prolog ? config.job_prolog : config.job_epilog;
  if (call.program.empty())
    return base::fail(base::ErrorCode::kUnavailable, fmt::format("controller.{} of the configuration names no program",
                                                                 is_prolog ? "prolog" : "epilog"));
  call.limit = config.job_program_limit;
  call.keeps_end = true;
  if (static_cast<size_t>(job.variables_size()) > kMostOfJob) return base::invalid("too many variables");
  for (const wire::ScriptVariable& variable : job.variables()) {
    const std::string& value = variable.value();
    if (!is_name(variable.name()) || value.size() > kLongestOfJob || value.find('\0') != std::string::npos)
      return base::invalid("the variable " + base::printable(variable.name(), 40) + " is none of a job's");
    for (const char* prefix : {"SLURM_", "GANGWAY_"}) call.variables.push_back(prefix + variable.name() + "=" + value);
  }
  if (!config.path.empty()) call.variables.push_back("GANGWAY_CONF=" + config.path);
  return call;
}

}  // namespace gw::ctld
