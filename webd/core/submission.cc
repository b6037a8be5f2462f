// See submission.h.
#include "webd/core/submission.h"

#include <utility>

#include "base/text.h"
#include "client/options/directives.h"
#include "cmds/gbatch/batch_components.h"
#include "cmds/request/batch_script.h"
#include "cmds/request/slurm_forms.h"
#include "wire/convert.h"

namespace gw::webd {
namespace {

constexpr uint32_t kUmask = 022;

base::Result<std::string> environment_of(const cmds::BatchOptions& o, const Submitted& s) {
  if (!o.slurm.export_file.empty())
    return base::invalid("--export-file: files are not read here", "give the variables as `environment`");
  std::vector<std::string> given;
  for (const auto& [name, value] : s.environment) {
    if (name.empty() || name.find('=') != std::string::npos || (name + value).find('\0') != std::string::npos)
      return base::invalid("environment: " + base::printable(name, 60) + " is no name, or its value no text");
    given.push_back(name + "=" + value);
  }
  std::vector<std::string> more;
  for (const auto& [name, value] : o.slurm.for_steps) more.push_back(name + "=" + value);
  // The node takes it out, and asks the user's login shell.
  const uint32_t login = o.slurm.login_seconds == 0 ? cmds::kLoginSeconds : o.slurm.login_seconds;
  more.push_back("SLURM_GET_USER_ENV=" + std::to_string(login));
  return cmds::export_environment(o.export_form, given, more);
}

base::Status fill_launch(cmds::BatchOptions& o, const Submitted& s, const std::string& from) {
  if (o.chdir.empty()) o.chdir = s.chdir;
  if (!o.chdir.starts_with('/'))
    return base::invalid(
        "chdir: " + (o.chdir.empty() ? "no folder is named" : base::printable(o.chdir, 100) + " is not absolute"),
        "name the folder in which the job runs: /home/alice");
  model::Launch& l = o.spec.launch;
  l.work_dir = o.chdir;
  l.args = s.arguments;
  l.umask = kUmask;
  l.slurm_names = true;  // scripts come from both worlds
  o.spec.submit_host = from;
  o.spec.submit_line = "POST /api/v1/jobs";
  if (o.spec.name.empty()) o.spec.name = "job";
  return {};
}

}  // namespace

base::Result<wire::SubmitRequest> submission_of(Submitted s, const std::string& from, base::Time now,
                                                std::vector<std::string>& notes) {
  GW_TRY_STATUS(cmds::check_script(s.script));
  GW_TRY(directives, client::read_directives(s.script, "script"));
  const auto nothing = [](const char*) -> const char* { return nullptr; };
  GW_TRY(components, cmds::read_components({std::move(directives), "script", nothing, {std::move(s.options)}, now}));
  if (components.front().wrap) return base::invalid("--wrap: there is a script already", "leave it out");
  GW_TRY(environment, environment_of(components.front(), s));
  wire::SubmitRequest submit;
  for (cmds::BatchOptions& o : components) {
    const bool is_first = &o == &components.front();
    std::vector<std::string> unsaid;
    GW_TRY_STATUS(cmds::complete(o, is_first ? notes : unsaid));
    GW_TRY_STATUS(fill_launch(o, s, from));
    *(is_first ? submit.mutable_spec() : submit.add_components()) = wire::to_wire(o.spec);
  }
  const cmds::BatchOptions& first = components.front();
  submit.set_script(s.script);
  submit.set_environment(environment);
  submit.set_test_only(first.test_only);
  if (first.array)
    *submit.mutable_array() = wire::to_wire(model::ArrayTasks{first.array->tasks, first.array->throttle, 0, 0, {}});
  return submit;
}

}  // namespace gw::webd
