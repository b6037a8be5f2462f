// gbatch (sbatch): submits a batch script, or tests whether it could run, and may wait for its end.
// Invariant: on success stdout holds the one line that says the job's number, and stderr holds nothing but warnings.
#include <fcntl.h>
#include <fmt/format.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "base/counted.h"
#include "base/text.h"
#include "client/options/directives.h"
#include "client/options/in_effect.h"
#include "client/show/array_view.h"
#include "client/show/job_view.h"
#include "cmds/gbatch/batch_components.h"
#include "cmds/gbatch/batch_table.h"
#include "cmds/request/batch_script.h"
#include "cmds/request/slurm_forms.h"
#include "cmds/shared/commands.h"
#include "cmds/shared/last_words.h"
#include "wire/convert.h"

namespace gw::cmds {
namespace {

using client::kExitBatchUsage;
using client::kExitFailed;
using client::kExitOk;
using client::Program;

/// A refusal together with the code to leave with.
struct Refusal {
  base::Error error;
  int code;
};
template <typename T>
using Step = tl::expected<T, Refusal>;

tl::unexpected<Refusal> refuse(const base::Error& error, int code) { return tl::unexpected(Refusal{error, code}); }

/// The command line, and what had to be known of it before the script was read.
struct Invocation {
  CommandLine line;
  BatchOptions early;
  client::OptionsInEffect* seen = nullptr;  ///< All options that count are noted here.
};

base::Result<std::string> current_directory() {
  char path[PATH_MAX];
  if (::getcwd(path, sizeof path) == nullptr)
    return base::fail_errno("the current directory cannot be found", errno, "change to another, or use --chdir");
  return std::string(path);
}

base::Status fill_launch(const Program& program, BatchOptions& o, const Script& script, const Invocation& inv,
                         Args args) {
  model::Launch& l = o.spec.launch;
  if (!o.chdir.starts_with('/')) {
    GW_TRY(here, current_directory());
    o.chdir = o.chdir.empty() ? here : here + "/" + o.chdir;
  }
  l.work_dir = o.chdir;
  if (inv.line.operands.size() > 1) l.args.assign(inv.line.operands.begin() + 1, inv.line.operands.end());
  l.umask = present_umask();
  std::map<std::string, uint64_t> limits = present_limits();
  GW_TRY_STATUS(keep_propagated(o.slurm.propagate, limits));
  l.limits = model::Limits(std::move(limits));
  l.slurm_names = program.is_slurm;
  l.command = script.path;
  o.spec.submit_host = host_name();
  o.spec.submit_line = submit_line(program.name, args);
  if (o.spec.name.empty()) {
    const size_t slash = script.label.rfind('/');
    o.spec.name =
        script.label == "stdin" ? program.name : script.label.substr(slash == std::string::npos ? 0 : slash + 1);
  }
  return {};
}

Step<Script> get_script(const Invocation& inv) {
  if (inv.early.wrap) {
    if (!inv.line.operands.empty())
      return refuse({base::ErrorCode::kInvalid, "Script arguments are not permitted with the --wrap option", {}},
                    kExitFailed);
    if (base::trim(*inv.early.wrap).empty())
      return refuse({base::ErrorCode::kInvalid, "--wrap: the command is empty", {}}, kExitFailed);
    return wrapped_script(*inv.early.wrap);
  }
  auto script = load_script(inv.line.operands.empty() ? std::string() : inv.line.operands.front());
  if (!script) return refuse(script.error(), kExitFailed);
  if (auto fine = check_script(script->bytes); !fine) return refuse(fine.error(), kExitFailed);
  return *script;
}

base::Result<std::vector<BatchOptions>> read_job(const Script& script, const Invocation& inv) {
  GW_TRY(directives, client::read_directives(script.bytes, script.label, inv.early.ignore_pbs));
  const bool has_pbs_lines = std::any_of(directives.begin(), directives.end(),
                                         [](const client::Directive& line) { return line.kind == "#PBS"; });
  GW_TRY(components,
         read_components({std::move(directives), script.label, [](const char* name) { return std::getenv(name); },
                          inv.line.components, base::SystemClock().now(), inv.seen}));
  for (BatchOptions& o : components) o.has_pbs_lines = has_pbs_lines;
  return components;
}

/// What --export lets through of this environment, then what --export-file and options for the steps add.
base::Result<std::string> environment_of(const BatchOptions& o) {
  std::vector<std::string> more;
  if (!o.slurm.export_file.empty()) {
    GW_TRY(lines, read_export_file(o.slurm.export_file));
    more = std::move(lines);
  }
  for (const auto& [name, value] : o.slurm.for_steps) more.push_back(name + "=" + value);
  if (o.has_pbs_lines)
    for (std::string& line : pbs_settings(o.spec)) more.push_back(std::move(line));
  else if (std::getenv("PBS_ENVIRONMENT") != nullptr)
    more.emplace_back("PBS_ENVIRONMENT=");  // of the job that this one is submitted from
  // The node takes it out, and asks the user's login shell.
  uint32_t login = o.slurm.login_seconds;
  if (login == 0 && implies_login_environment(o.export_form)) login = kLoginSeconds;
  if (login > 0) more.push_back("SLURM_GET_USER_ENV=" + std::to_string(login));
  return export_environment(o.export_form, present_environment(), more);
}

Step<wire::SubmitRequest> submission(const Program& program, std::vector<BatchOptions>& components,
                                     const Script& script, const Invocation& inv, Args args,
                                     std::vector<std::string>& notes) {
  wire::SubmitRequest submit;
  for (BatchOptions& o : components) {
    std::vector<std::string> unsaid;  // what is left out is the same for each
    if (auto done = complete(o, &o == &components.front() ? notes : unsaid); !done)
      return refuse(as_refused(program, "Batch job submission failed: ", done.error()), kExitFailed);
    if (auto done = fill_launch(program, o, script, inv, args); !done) return refuse(done.error(), kExitFailed);
    *(&o == &components.front() ? submit.mutable_spec() : submit.add_components()) = wire::to_wire(o.spec);
  }
  const BatchOptions& first = components.front();
  auto environment = environment_of(first);
  if (!environment) return refuse(environment.error(), kExitBatchUsage);
  struct stat st {};
  if (::stat(first.spec.launch.work_dir.c_str(), &st) != 0)
    notes.push_back("work directory " + base::printable(first.spec.launch.work_dir) + " does not exist on this host");
  submit.set_script(script.bytes);
  submit.set_environment(*environment);
  submit.set_test_only(first.test_only);
  if (first.array)
    *submit.mutable_array() = wire::to_wire(model::ArrayTasks{first.array->tasks, first.array->throttle, 0, 0, {}});
  return submit;
}

/// `options` becomes those of the first component, which speak for the whole job.
Step<wire::ApiRequest> make_request(const Program& program, BatchOptions& options, const Invocation& inv, Args args,
                                    std::vector<std::string>& notes) {
  // Whoever forgot the script's name would wonder what it waits for.
  if (!inv.early.wrap && inv.line.operands.empty() && ::isatty(STDIN_FILENO) == 1)
    client::print_note(program, "reading the script from the terminal; ctrl-D ends it");
  auto script = get_script(inv);
  if (!script) return tl::unexpected(script.error());
  auto components = read_job(*script, inv);
  if (!components) return refuse(components.error(), kExitBatchUsage);
  auto submit = submission(program, *components, *script, inv, args, notes);
  if (!submit) return tl::unexpected(submit.error());
  options = std::move(components->front());
  wire::ApiRequest request;
  *request.mutable_submit() = std::move(*submit);
  return request;
}

int exit_code_of(const Program& program, const wire::Job& job, bool quiet) {
  const wire::Outcome& o = job.status().ended().outcome();
  const model::JobState state = client::state_of(job);
  const uint32_t failed_tasks = job.status().tasks().failed();
  if (failed_tasks > 0 && !quiet)
    client::print_note(program, fmt::format("{} of the array did not complete; the worst of them:",
                                            base::counted(failed_tasks, "task")));
  if (state != model::JobState::kCompleted && !quiet) {
    const std::string detail = client::reason_detail(job);
    std::string how;
    if (o.exit_signo() > 0)
      how = fmt::format(" by signal {}", o.exit_signo());
    else if (o.exit_code() != 0)
      how = fmt::format(" with exit code {}", o.exit_code());
    client::print_note(program, fmt::format("job {} ended {}{}{}{}", client::shown_id(job), model::long_name(state),
                                            how, detail.empty() ? "" : ": ", base::printable(detail, 1000)));
  }
  if (o.exit_signo() > 0) return 128 + o.exit_signo();
  if (o.exit_code() != 0) return o.exit_code();
  return state == model::JobState::kCompleted && failed_tasks == 0 ? kExitOk : kExitFailed;
}

/// Before the id is printed: whoever has read it and ends this program is told.
void explain_when_interrupted(const Program& program, uint32_t id) {
  const char prefix = program.is_slurm ? 's' : 'g';
  say_when_interrupted(
      program,
      fmt::format("no longer waiting; job {0} continues: {1}queue -j {0} shows it, {1}cancel {0} ends it", id, prefix));
}

int wait_for(const Program& program, client::Connection& connection, uint32_t id, bool quiet) {
  wire::ApiRequest request;
  request.mutable_wait_job()->set_id(id);
  auto reply = connection.call(std::move(request));
  if (!reply)
    return failed(program, {reply.error().code, fmt::format("waiting for job {}: {}", id, reply.error().what),
                            reply.error().hint});
  return exit_code_of(program, reply->wait_job().job(), quiet);
}

/// `cluster`: behind the number alone, if clusters were asked for.
int report(const Program& program, client::Connection& connection, const BatchOptions& o,
           const wire::SubmitReply& reply, const std::string& cluster) {
  if (!o.quiet)
    for (const std::string& warning : reply.warnings()) client::print_note(program, "warning: " + warning);
  if (o.test_only) {
    print_verdict(program, reply);
    return kExitOk;
  }
  explain_when_interrupted(program, reply.job_id());
  const int code = printed(o.parsable ? fmt::format("{}{}\n", reply.job_id(), cluster)
                                      : fmt::format("Submitted batch job {}\n", reply.job_id()));
  return o.wait ? wait_for(program, connection, reply.job_id(), o.quiet) : code;
}

/// Slurm says this in a line of its own, which programs look for.
void say_bad_partition(const Program& program, const base::Error& error) {
  constexpr std::string_view kSentence = "Invalid partition name specified: ";
  if (program.is_slurm && error.what.starts_with(kSentence))
    client::print_error(program, "invalid partition specified: " + error.what.substr(kSentence.size()));
}

int submit(const Program& program, const BatchOptions& o, wire::ApiRequest request) {
  const auto text = [&](const base::Error& e) {
    return base::Error{
        e.code, (o.test_only ? "allocation failure: " : "Batch job submission failed: ") + client::said(program, e),
        e.hint};
  };
  auto config = client::load_config();
  if (!config) return failed(program, text(config.error()));
  if (auto own = check_clusters(o.slurm.clusters, config->cluster); !own) return failed(program, text(own.error()));
  auto connection = client::open_connection(program, *config);
  if (!connection) return failed(program, text(connection.error()));
  if (program.verbose > 0)
    client::print_note(program, fmt::format("sending a script of {} bytes and an environment of {} bytes",
                                            request.submit().script().size(), request.submit().environment().size()));
  if (!o.test_only)
    say_when_interrupted(program,
                         fmt::format("interrupted before the controller answered: {}queue --me shows whether it "
                                     "took the job",
                                     program.is_slurm ? 's' : 'g'));
  auto reply = connection->call(std::move(request));
  if (!reply) say_bad_partition(program, reply.error());
  if (!reply) return failed(program, text(reply.error()));
  return report(program, *connection, o, reply->submit(), o.slurm.clusters.empty() ? "" : ";" + config->cluster);
}

}  // namespace

int run_gbatch(const Program& called, Args args) {
  Invocation inv;
  client::OptionsInEffect seen;
  inv.seen = &seen;
  client::CommonFlags flags;
  const auto early_table = batch_table(inv.early, flags, base::SystemClock().now());
  Parsed parsed =
      parse_command(called, batch_doc(), early_table, flags, args, kExitBatchUsage, {.stop_at_operand = true});
  if (parsed.exit) return *parsed.exit;
  auto line = split_components(early_table, args);
  if (!line) return failed(called, line.error(), kExitBatchUsage);
  inv.line = std::move(*line);
  BatchOptions options;
  std::vector<std::string> notes;
  auto request = make_request(called, options, inv, args, notes);
  if (!request) return failed(called, request.error().error, request.error().code);
  const Program program = options.quiet ? called : client::outspoken(called, seen, client::OptionFrame::kSubmits);
  if (!options.quiet)
    for (const std::string& note : notes) client::print_note(program, "warning: " + note);
  return submit(program, options, std::move(*request));
}

}  // namespace gw::cmds
