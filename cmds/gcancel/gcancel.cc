// gcancel (scancel): ends jobs and steps or sends them signals.
// Invariants: never cancels without being told which; a filter that names what does not exist cancels nothing; success
// is silent, and so is a job that has ended; under Slurm's name also one that is not there.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <set>
#include <utility>

#include "base/text.h"
#include "client/show/array_view.h"
#include "client/show/job_view.h"
#include "cmds/gcancel/step_cancel.h"
#include "cmds/request/job_options.h"
#include "cmds/shared/commands.h"
#include "cmds/shared/job_faults.h"
#include "cmds/shared/job_filter.h"
#include "wire/convert.h"

namespace gw::cmds {
namespace {

using base::Status;
using client::Arg;
using client::Program;
using Text = std::string_view;

struct CancelOptions {
  JobFilters filters;
  bool batch = false, full = false, quiet = false, verbose = false, interactive = false, ignored = false;
  int signo = 0;
  std::vector<StepId> steps;
};

std::vector<client::Option> table(CancelOptions& o, client::CommonFlags& flags) {
  std::vector<client::Option> t;
  add_job_filters(t, o.filters, {"USER", "NAME"});
  t.push_back({"jobname", 0, Arg::kRequired, "NAMES", {}, {}, client::kHidden, lists(o.filters.names, "--jobname")});
  t.push_back({"state", 't', Arg::kRequired, "STATES", "jobs in these states: PENDING, RUNNING, SUSPENDED", "STATE",
               client::kPlain, lists(o.filters.states, "-t/--state")});
  t.push_back({"signal",
               's',
               Arg::kRequired,
               "SIGNAL",
               "send this signal to the steps, not the batch script (KILL: end the job at once)",
               {},
               client::kPlain,
               [&o](Text v) -> Status {
                 GW_TRY(signo, parse_signal(v, "-s/--signal"));
                 o.signo = signo;
                 return {};
               }});
  t.push_back({"batch", 'b', Arg::kNone, {}, "signal the batch script alone", "BATCH", client::kPlain, sets(o.batch)});
  t.push_back({"full",
               'f',
               Arg::kNone,
               {},
               "signal the batch script, all its children and all steps",
               "FULL",
               client::kPlain,
               sets(o.full)});
  t.push_back(
      {"interactive", 'i', Arg::kNone, {}, "ask about every job", "INTERACTIVE", client::kPlain, sets(o.interactive)});
  t.push_back({"quiet", 'Q', Arg::kNone, {}, "no messages", {}, client::kPlain, sets(o.quiet)});
  t.push_back({"verbose", 'v', Arg::kNone, {}, "say what is done", "VERBOSE", client::kPlain, sets(o.verbose)});
  t.push_back({"ctld", 0, Arg::kNone, {}, {}, {}, client::kHidden, sets(o.ignored)});
  t.push_back({"hurry", 'H', Arg::kNone, {}, {}, {}, client::kHidden, sets(o.ignored)});
  add_cluster_option(t);
  client::add_common_options(t, flags, 0);
  static constexpr client::Unsupported kUnsupported[] = {{"wckey"}, {"sibling"}, {"cron", 'c', Arg::kNone}};
  client::add_unsupported(t, kUnsupported);
  return t;
}

client::CommandDoc doc() {
  client::CommandDoc d;
  d.summary = "cancel jobs and steps or send them signals";
  d.synopsis = "[OPTIONS] [JOB_ID[.STEP]...]";
  d.description =
      "Ends the named jobs, or all that pass every filter given. Ids may be lists and ranges: 1,2 or 5-9. Jobs that "
      "have ended are passed over in silence (-v tells of them); an id that no job has is an error, but scancel passes "
      "over it, too. A user, partition, QOS or node that does not exist is an error, and then nothing is cancelled.\n\n"
      "-s sends a signal to the steps of a job and leaves its batch script alone: programs that save their work on a "
      "signal run in steps, and the script that waits for them is to live on. -b signals the script's own process, -f "
      "the script, all that it started, and all steps. -s KILL ends the job at once, also one that is ending (CG).\n\n"
      "JOB_ID.STEP is one step of a job, and JOB_ID.batch its batch script, which can be signalled (-s) but not ended "
      "apart from the job. Filters hold for the jobs of the steps.";
  d.exit_codes = {{"0", "done, or there was nothing to do"},
                  {"1",
                   "bad option or id, no such job (but for scancel), no step to signal, unknown user, partition, QOS "
                   "or node, permission denied, or the controller is out "
                   "of reach"}};
  d.environment = {{"GANGWAY_CONF", "configuration file"}};
  d.examples = {{"gcancel 7 9-12", "cancel five jobs"},
                {"gcancel -u alice -t PENDING", "what of alice's has not started"},
                {"gcancel -s USR1 7", "send job 7 a signal"},
                {"gcancel 7.0", "end a step of job 7"}};
  d.operands = client::Completes::kJobs;
  d.env_prefixes = {"SCANCEL_", "GCANCEL_"};
  return d;
}

Status add_states(const CancelOptions& o, wire::JobFilter& f) {
  for (const std::string& text : o.filters.states) {
    GW_TRY(state, model::parse_job_state(text));
    if (model::is_end(state))
      return base::invalid("-t/--state: jobs that are " + std::string(model::long_name(state)) + " have ended",
                           "PENDING, RUNNING and SUSPENDED jobs can be cancelled");
    f.add_states(static_cast<uint32_t>(state));
  }
  return {};
}

base::Result<wire::JobFilter> make_filter(const CancelOptions& o) {
  GW_TRY(filter, to_filter(o.filters));
  GW_TRY_STATUS(add_states(o, filter));
  return filter;
}

/// What the controller does not know may still be what jobs carry: a partition that is gone, a node that was taken out.
Status check_filter(client::Connection& connection, const wire::JobFilter& filter) {
  const Status known = check_names(connection, filter, {});
  if (known || known.error().code != base::ErrorCode::kNotFound) return known;
  wire::ApiRequest request;
  *request.mutable_list_jobs()->mutable_filter() = filter;
  GW_TRY(reply, connection.call(std::move(request)));
  return check_names(connection, filter, reply.list_jobs().jobs());
}

/// Nothing: nobody answers.
std::optional<bool> ask_whether(const std::string& question) {
  std::cerr << question << " [y/n]? " << std::flush;
  std::string answer;
  if (std::getline(std::cin, answer)) return !answer.empty() && (answer[0] == 'y' || answer[0] == 'Y');
  std::cerr << '\n';
  return std::nullopt;
}

/// Of an array the tasks that the job is, and of these those that were named: its number would mean all of it.
void add_agreed(const wire::JobFilter& filter, const wire::Job& job, JobIds& agreed) {
  if (!job.spec().has_array()) {
    agreed.jobs.push_back(job.id());
    return;
  }
  const uint32_t array = client::array_of(job);
  auto tasks = wire::from_wire(job.status().tasks().left());
  std::string text = job.spec().array().has_task() ? std::to_string(job.spec().array().task()) : "";
  for (const wire::TasksOfArray& named : filter.tasks())
    if (const auto set = wire::from_wire(named.tasks()); tasks && set && named.array() == array && filter.ids().empty())
      tasks = tasks->common(*set);
  if (text.empty() && tasks) text = tasks->text();
  std::string& all = agreed.tasks[array];
  all += (all.empty() ? "" : ",") + text;
}

/// Asks about every job that the filter finds; the ids that were agreed to.
base::Result<JobIds> ask_each(client::Connection& connection, const wire::JobFilter& filter) {
  wire::ApiRequest request;
  *request.mutable_list_jobs()->mutable_filter() = filter;
  GW_TRY(reply, connection.call(std::move(request)));
  JobIds agreed;
  std::set<uint32_t> asked;
  for (const wire::Job& job : reply.list_jobs().jobs()) {
    if (model::is_end(client::state_of(job))) continue;
    asked.insert(job.id());
    if (job.spec().het_offset() > 0 && asked.contains(job.spec().het_job())) continue;  // all go together
    const auto agrees = ask_whether(fmt::format("Cancel job_id={} name={} partition={}", client::shown_id(job),
                                                base::printable(job.spec().name(), 60), client::partition_of(job)));
    if (!agrees) break;
    if (*agrees) add_agreed(filter, job, agreed);
  }
  return agreed;
}

std::vector<StepId> ask_each_step(const std::vector<StepId>& steps) {
  std::vector<StepId> agreed;
  for (const StepId& step : steps) {
    const auto agrees = ask_whether("Cancel step_id=" + step.text());
    if (!agrees) break;
    if (*agrees) agreed.push_back(step);
  }
  return agreed;
}

int report(const Program& program, const CancelOptions& o, const wire::CancelReply& reply) {
  int code = client::kExitOk;
  const bool is_signal = o.signo != 0;
  if (o.verbose)
    for (uint32_t id : reply.done()) client::print_note(program, what_was_done(o.signo, "job", std::to_string(id)));
  for (const wire::JobFault& fault : reply.faults()) {
    const bool is_idle = is_nothing_to_do(program, static_cast<base::ErrorCode>(fault.error().code()), is_signal);
    if (!is_idle) code = client::kExitFailed;
    if (o.quiet || (is_idle && !o.verbose)) continue;
    if (program.is_slurm)  // clients look for these words
      client::print_error(program, fmt::format("Kill job error on job id {}: {}",
                                               fault.task().empty() ? std::to_string(fault.id()) : fault.task(),
                                               client::said(program, wire::from_wire(fault.error()))));
    else if (is_idle)
      client::print_note(program, (is_signal ? "nothing to signal: " : "nothing to cancel: ") + fault_text(fault));
    else
      client::print_error(program, fault_text(fault));
  }
  return code;
}

/// In Slurm's words under its name, with the filters that were given.
std::string none_passes(const Program& program, const JobFilters& f, std::string_view otherwise) {
  if (!program.is_slurm || !f.has_filter()) return std::string(otherwise);
  const std::pair<Text, const std::vector<std::string>*> filters[] = {
      {"user", &f.users},     {"partition", &f.partitions},    {"name", &f.names},
      {"state", &f.states},   {"account", &f.accounts},        {"qos", &f.qos},
      {"nodelist", &f.nodes}, {"reservation", &f.reservations}};
  std::vector<std::string> words;
  if (f.me) words.emplace_back("me");
  for (const auto& [name, values] : filters)
    if (!values->empty()) words.push_back(fmt::format("{}={}", name, base::printable(base::join(*values, ","), 200)));
  return "No active jobs match ALL job filters, including: " + base::join(words, " ");
}

/// The controller passes over jobs of others that a filter happens to find; whoever named their owner is told.
int report_none(const Program& program, const CancelOptions& o, client::Connection& connection,
                const wire::JobFilter& filter) {
  if (filter.users().empty() && filter.uids().empty()) {
    if (o.verbose)
      client::print_note(program,
                         none_passes(program, o.filters, "nothing to cancel: no job of yours passes the filter"));
    return client::kExitOk;
  }
  wire::ApiRequest request;
  *request.mutable_list_jobs()->mutable_filter() = filter;
  auto reply = connection.call(std::move(request));
  if (!reply) return failed(program, reply.error());
  const auto& jobs = reply->list_jobs().jobs();
  if (!jobs.empty())
    return failed(program, {base::ErrorCode::kDenied,
                            fmt::format("access denied to {} of {}", jobs.size() == 1 ? "the job" : "the jobs",
                                        jobs[0].spec().user()),
                            "only the owner of a job and administrators may do this"});
  if (o.verbose)
    client::print_note(program, none_passes(program, o.filters, "nothing to cancel: no job passes the filter"));
  return client::kExitOk;
}

Status fill_from_environment(CancelOptions& o) {
  CancelOptions from_env;
  client::CommonFlags unused;
  GW_TRY_STATUS(client::read_environment(table(from_env, unused), doc().env_prefixes,
                                         [](const char* n) { return std::getenv(n); }));
  fill_filters(o.filters, from_env.filters);
  o.batch |= from_env.batch;
  o.full |= from_env.full;
  o.interactive |= from_env.interactive;
  o.verbose |= from_env.verbose;
  return {};
}

CancelManner manner_of(const CancelOptions& o) { return {o.signo, o.batch, o.quiet, o.verbose}; }

Status read_targets(const Program& program, const std::vector<std::string>& operands, CancelOptions& o) {
  StepChoice choice;
  for (const std::string& operand : operands) GW_TRY_STATUS(parse_step_ids(operand, choice));
  o.filters.ids = {std::move(choice.jobs), std::exchange(choice.tasks, {})};
  GW_TRY_STATUS(resolve(program, choice));
  o.steps = std::move(choice.steps);
  if (o.filters.ids.empty() && o.steps.empty() && !o.filters.has_filter())
    return base::invalid("No job identification provided", "name job ids, or filters such as -u or --me");
  return check_steps(o.steps, manner_of(o));
}

int cancel_jobs(const Program& program, const CancelOptions& o, client::Connection& connection,
                wire::JobFilter filter) {
  if (o.interactive) {
    auto agreed = ask_each(connection, filter);
    if (!agreed) return failed(program, agreed.error());
    if (agreed->empty()) return client::kExitOk;
    filter.clear_tasks();
    agreed->put(*filter.mutable_ids(), *filter.mutable_tasks());
  }
  wire::ApiRequest request;
  wire::CancelRequest& cancel = *request.mutable_cancel();
  *cancel.mutable_filter() = filter;
  cancel.set_signo(o.signo);
  cancel.set_batch_only(o.batch);
  cancel.set_full(o.full);
  auto reply = connection.call(std::move(request));
  if (!reply) return failed(program, reply.error());
  const wire::CancelReply& result = reply->cancel();
  return result.done().empty() && result.faults().empty() ? report_none(program, o, connection, filter)
                                                          : report(program, o, result);
}

int cancel_named_steps(const Program& program, const CancelOptions& o, client::Connection& connection,
                       const wire::JobFilter& filter) {
  std::vector<StepId> steps = o.steps;
  if (o.filters.has_filter()) {
    auto passing = steps_that_pass(connection, steps, filter);
    if (!passing) return failed(program, passing.error());
    steps = std::move(*passing);
    if (steps.empty() && o.verbose) client::print_note(program, "nothing to cancel: no step passes the filter");
  }
  return cancel_steps(program, connection, o.interactive ? ask_each_step(steps) : steps, manner_of(o));
}

}  // namespace

int run_gcancel(const Program& called, Args args) {
  CancelOptions o;
  client::CommonFlags flags;
  const auto t = table(o, flags);
  Parsed parsed = parse_command(called, doc(), t, flags, args, client::kExitUsage);
  if (parsed.exit) return *parsed.exit;
  const Program program = louder(called, parsed);
  if (auto done = fill_from_environment(o); !done) return failed(program, done.error());
  if (auto done = read_targets(program, parsed.operands, o); !done) return failed(program, done.error());
  auto filter = make_filter(o);
  if (!filter) return failed(program, filter.error());
  auto connection = client::connect(program);
  if (!connection) return failed(program, connection.error());
  if (auto known = check_filter(*connection, *filter); !known) return failed(program, known.error());
  // Steps alone: a filter without ids is about their jobs, not about all others that pass it.
  const bool has_jobs = o.steps.empty() || !o.filters.ids.empty();
  const int of_jobs = has_jobs ? cancel_jobs(program, o, *connection, *filter) : client::kExitOk;
  const int of_steps = o.steps.empty() ? client::kExitOk : cancel_named_steps(program, o, *connection, *filter);
  return std::max(of_jobs, of_steps);
}

}  // namespace gw::cmds
