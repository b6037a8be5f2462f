// galloc (salloc): asks for an allocation, runs a command or a shell in it, and gives it back.
// Invariants: what is wrong with the call is said before the controller is asked; the exit code is that of the command.
#include <fmt/format.h>
#include <limits.h>
#include <pwd.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "client/options/in_effect.h"
#include "cmds/galloc/alloc_session.h"
#include "cmds/galloc/offer.h"
#include "cmds/request/batch_script.h"
#include "cmds/request/components.h"
#include "cmds/request/job_values.h"
#include "cmds/request/option_groups.h"
#include "cmds/request/slurm_forms.h"
#include "cmds/request/slurm_options.h"
#include "cmds/request/waiting_options.h"
#include "wire/convert.h"

namespace gw::cmds {
namespace {

using base::Result;
using base::Status;
using client::Arg;
using client::kPlain;
using client::kRaw;
using client::Option;
using client::Program;
using Text = std::string_view;

const char* environment(const char* name) { return std::getenv(name); }

Result<std::string> present_dir() {
  char here[PATH_MAX];
  if (::getcwd(here, sizeof here) == nullptr)
    return base::fail_errno("the current directory cannot be found", errno, "change to another, or use --chdir");
  return std::string(here);
}

std::string user_shell() {
  if (const char* shell = std::getenv("SHELL"); shell != nullptr && *shell == '/') return shell;
  const passwd* entry = ::getpwuid(::getuid());
  return entry != nullptr && entry->pw_shell != nullptr && *entry->pw_shell != '\0' ? entry->pw_shell : "/bin/sh";
}

/// What is run: the words given, else the user's shell here or on the first node.
std::vector<std::string> command_of(const AllocOptions& o, std::vector<std::string> words) {
  if (words.empty()) words.push_back(user_shell());
  if (!o.shell_on_node) return words;
  std::vector<std::string> all{"grun", "-N1", "-n1", "--overlap", "--pty"};
  if (!o.chdir.empty()) all.push_back("--chdir=" + o.chdir);
  all.insert(all.end(), words.begin(), words.end());
  return all;
}

/// What is said of each component beside the whole, of which all words were said.
Result<std::vector<BatchOptions>> read_components(const AllocOptions& whole, const CommandLine& line, base::Time now) {
  std::vector<BatchOptions> out;
  for (const std::vector<std::string>& words : line.components) {
    AllocOptions own;
    client::CommonFlags flags;
    const auto table = alloc_table(own, flags, now);
    if (!out.empty()) own.job.spec.request.exclude = out.back().spec.request.exclude;  // as in Slurm
    GW_TRY_STATUS(client::read_environment(table, alloc_doc().env_prefixes, environment));
    GW_TRY_STATUS(end_of_source(own.job));
    const auto read = client::parse_options(table, words, {.stop_at_operand = true});
    if (!read) return base::pass(read);
    BatchOptions component = whole.job;
    take_resources(component, own.job);
    out.push_back(std::move(component));
  }
  return out;
}

Status complete_spec(const Program& program, const AllocOptions& o, BatchOptions& job, const std::string& command,
                     std::vector<std::string>& notes) {
  GW_TRY_STATUS(complete(job, notes));
  GW_TRY_STATUS(check_signal_of_steps(job.spec));
  GW_TRY(dir, present_dir());
  model::JobSpec& spec = job.spec;
  if (spec.name.empty()) spec.name = command.substr(command.rfind('/') + 1);
  spec.kind = model::JobKind::kAllocation;
  spec.attended = !o.no_shell;
  spec.not_preemptible = !o.preemptible;
  spec.requeue = false;
  spec.launch.work_dir = std::move(dir);
  spec.launch.umask = present_umask();
  spec.launch.slurm_names = program.is_slurm;
  spec.submit_host = host_name();
  return {};
}

/// `components`: of one all that was said.
Result<wire::SubmitRequest> make_request(const Program& program, const AllocOptions& o,
                                         std::vector<BatchOptions> components, Args args,
                                         std::vector<std::string>& notes, const std::string& command) {
  wire::SubmitRequest submit;
  for (BatchOptions& job : components) {
    const bool is_first = &job == &components.front();
    std::vector<std::string> unsaid;  // what is left out is the same for each
    GW_TRY_STATUS(complete_spec(program, o, job, command, is_first ? notes : unsaid));
    job.spec.submit_line = submit_line(program.name, args);
    *(is_first ? submit.mutable_spec() : submit.add_components()) = wire::to_wire(job.spec);
  }
  return submit;
}

void add_bell_options(std::vector<Option>& t, AllocOptions& o) {
  t.push_back(
      {"bell", 0, Arg::kNone, {}, "ring the terminal's bell when it starts", "BELL", kPlain, [&o](Text) -> Status {
         o.bell = true;
         return {};
       }});
  t.push_back({"no-bell",
               0,
               Arg::kNone,
               {},
               "never ring (default: after 10 s of waiting)",
               "NO_BELL",
               kPlain,
               [&o](Text) -> Status {
                 o.bell = false;
                 return {};
               }});
}

}  // namespace

std::vector<Option> alloc_table(AllocOptions& o, client::CommonFlags& flags, base::Time now) {
  std::vector<Option> t;
  t.reserve(160);
  add_allocation_options(t, o.job, now);
  t.push_back(
      {"chdir", 'D', Arg::kRequired, "DIR", "run the command there", {}, kRaw, text_of_job(o.chdir, "-D/--chdir")});
  t.push_back(
      {"from-offer",
       0,
       Arg::kRequired,
       "ID",
       "take up what `gangway offers` lists by that ID: its nodes and GPUs, as long as it lasts, at once or not at all",
       {},
       kPlain,
       text_of_job(o.from_offer, "--from-offer")});
  t.push_back({"no-shell",
               0,
               Arg::kNone,
               {},
               "leave at once; the allocation stays until gcancel or its time limit",
               {},
               kPlain,
               sets(o.no_shell)});
  t.push_back({"shell-on-node",
               0,
               Arg::kNone,
               {},
               "run the command on the first node",
               "SHELL_ON_NODE",
               kPlain,
               sets(o.shell_on_node)});
  t.push_back({"test-only",
               0,
               Arg::kNone,
               {},
               "check only: where it would run, or what is in the way",
               {},
               kPlain,
               sets(o.test_only)});
  add_waiting_options(t, o.immediate_seconds, o.preemptible);
  add_bell_options(t, o);
  t.push_back({"quiet", 'Q', Arg::kNone, {}, "no notes", {}, kPlain, sets(o.quiet)});
  t.push_back({"verbose",
               'v',
               Arg::kNone,
               {},
               "say more: the options in effect; -vv: each request, too",
               {},
               kPlain,
               sets(o.ignored)});
  add_slurm_forms(t, o.job, kByAlloc);
  add_slurm_options(t, o.job, kByAlloc);
  client::add_common_options(t, flags);
  add_older_spellings(t);
  return t;
}

client::CommandDoc alloc_doc() {
  client::CommandDoc d;
  d.summary = "get an allocation and run a command in it";
  d.synopsis = "[OPTIONS] [: OPTIONS]... [COMMAND [ARGUMENTS]]";
  d.description =
      "Asks for resources with the same options as gbatch, waits until they are there, then runs the command, or the "
      "user's shell, on this machine, with the variables of the allocation; grun in it runs steps on the nodes. When "
      "the command has ended the allocation is given back. After a second of waiting it says why, and again when that "
      "changes; ctrl-C then cancels it.\n\n"
      "A colon by itself begins a further component: galloc -n1 --gpus=1 : -n8 -p cpu. Components start together, each "
      "with sizes and partitions of its own; what else is said holds for all. grun A : B runs a program in each.\n\n"
      "An allocation is not preempted for others, and so starts only within what its QOS is guaranteed, unless "
      "--preemptible is given.";
  d.exit_codes = {{"N", "the exit code of the command"},
                  {"128+N", "the command was ended by signal N"},
                  {"1", "refused, a bad option, or the controller is out of reach"},
                  {"2", "with --test-only: it could run, but would not start now"},
                  {"127, 126", "the command was not found, or cannot be executed"},
                  {"130", "interrupted while it waited; the job was cancelled"}};
  d.environment = {{"GANGWAY_CONF", "configuration file (/etc/gangway/gangway.yaml)"},
                   {"SHELL", "what is run if no command is given"}};
  d.examples = {{"galloc -N1 --gpus-per-node=1", "a shell with a GPU on a node, to use by grun"},
                {"galloc --gpus=1 --shell-on-node", "a shell on the node itself"},
                {"galloc -n4 grun ./program", "four tasks"}};
  d.groups = job_option_groups();
  d.env_prefixes = {"SALLOC_", "GALLOC_"};
  return d;
}

/// Where a job is to run, as the environment has it: only where nothing else says it.
struct Place {
  std::vector<std::string> partitions, nodes;

  explicit Place(model::JobSpec& spec)
      : partitions(std::exchange(spec.partitions, {})), nodes(std::exchange(spec.request.nodelist, {})) {}
  void put_back(model::JobSpec& spec) const {
    if (spec.partitions.empty()) spec.partitions = partitions;
    if (spec.request.nodelist.empty()) spec.request.nodelist = nodes;
  }
};

/// What an offer says of the job, put behind what was said.
Status take_offer(const Program& program, AllocOptions& o, const std::vector<Option>& table) {
  wire::ApiRequest request;
  wire::ListOffersRequest& list = *request.mutable_list_offers();
  list.set_qos(o.job.spec.qos);
  list.set_id(o.from_offer);
  GW_TRY(connection, client::connect(program));
  GW_TRY(reply, connection.call(std::move(request)));
  GW_TRY(words, words_of_offer(o, reply.list_offers()));
  const auto read = client::parse_options(table, words);
  return read ? Status{} : base::pass(read);
}

int run_galloc(const Program& called, Args args) {
  AllocOptions o;
  client::CommonFlags flags;
  client::OptionsInEffect seen;
  const base::Time now = base::SystemClock().now();
  auto table = alloc_table(o, flags, now);
  seen.watch(table);
  const Status read = client::read_environment(table, alloc_doc().env_prefixes, environment);
  const Place by_environment(o.job.spec);
  Parsed parsed = parse_command(called, alloc_doc(), table, flags, args, client::kExitUsage, {.stop_at_operand = true});
  if (parsed.exit) return *parsed.exit;
  if (!read) return failed(called, read.error());
  CommandLine line{{}, std::move(parsed.operands)};
  const bool has_components = !line.operands.empty() && line.operands.front() == ":";
  if (!o.from_offer.empty()) {
    const Status taken = has_components
                             ? base::invalid("an offer is for one component", "leave out --from-offer, or `:`")
                             : take_offer(called, o, table);
    if (!taken) return failed(called, taken.error());
  } else {
    by_environment.put_back(o.job.spec);
  }
  std::vector<BatchOptions> components{o.job};
  if (has_components) {
    auto split = split_components(table, args);
    auto several = split ? read_components(o, *split, now) : base::pass(split);
    if (!several) return failed(called, several.error());
    line = std::move(*split);
    components = std::move(*several);
  }
  const Program program = o.quiet ? called : client::outspoken(called, seen, client::OptionFrame::kSubmits);
  std::vector<std::string> notes;
  std::vector<std::string> command = command_of(o, std::move(line.operands));
  const std::string& name = o.shell_on_node ? "interactive" : command.front();
  auto submit = make_request(program, o, std::move(components), args, notes, name);
  if (!submit) return failed(program, as_refused(program, "Unable to allocate resources: ", submit.error()));
  if (!o.quiet)
    for (const std::string& note : notes) client::print_note(program, "warning: " + note);
  auto config = client::load_config();
  if (!config) return failed(program, config.error());
  if (Status own = check_clusters(o.job.slurm.clusters, config->cluster); !own) return failed(program, own.error());
  if (o.test_only) {
    submit->set_test_only(true);
    return test_submission(program, std::move(*submit));
  }
  for (const auto& [variable, value] : o.job.slurm.for_steps) ::setenv(variable.c_str(), value.c_str(), 1);
  const int code =
      AllocSession(program, std::move(*config), std::move(o), std::move(command), std::move(*submit)).run();
  std::fflush(nullptr);
  std::_Exit(code);  // a request that is still under way has a thread
}

}  // namespace gw::cmds
