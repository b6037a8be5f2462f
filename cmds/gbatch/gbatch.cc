// gbatch (sbatch): submits a batch script, or tests whether it could run, and may wait for its end.
// Invariant: on success stdout holds the one line that says the job's number, and stderr holds nothing but warnings.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>

#include "base/text.h"
#include "client/options/directives.h"
#include "client/options/in_effect.h"
#include "cmds/gbatch/batch_components.h"
#include "cmds/gbatch/batch_table.h"
#include "cmds/gbatch/submission.h"
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
  auto environment = environment_of(components->front());
  if (!environment) return refuse(environment.error(), kExitBatchUsage);
  std::vector<std::string> script_args;
  if (inv.line.operands.size() > 1) script_args.assign(inv.line.operands.begin() + 1, inv.line.operands.end());
  Submission submission{std::move(*script), std::move(*components), std::move(script_args), std::move(*environment),
                        submit_line(program.name, args)};
  auto submit = submit_request(program, submission, notes);
  if (!submit) return refuse(submit.error(), kExitFailed);
  options = std::move(submission.components.front());
  wire::ApiRequest request;
  *request.mutable_submit() = std::move(*submit);
  return request;
}

/// `cluster`: behind the number alone, if clusters were asked for.
int report(const Program& program, client::Connection& connection, const BatchOptions& o,
           const wire::SubmitReply& reply, const std::string& cluster) {
  if (!o.quiet)
    for (const std::string& warning : reply.warnings()) client::print_note(program, "warning: " + warning);
  if (o.test_only) return print_verdict(program, reply);
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
