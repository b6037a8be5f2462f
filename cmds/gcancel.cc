// gcancel (scancel): ends jobs or sends them signals.
// Invariants: never cancels without being told which; success is silent, and so is a job that is not there or has
// ended.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>

#include "base/hostlist.h"
#include "base/text.h"
#include "client/job_view.h"
#include "cmds/batch_options.h"
#include "cmds/commands.h"

namespace gw::cmds {
namespace {

using base::Status;
using client::Arg;
using client::Program;
using Text = std::string_view;

struct CancelOptions {
  std::vector<uint32_t> ids;
  std::vector<std::string> users, partitions, names, states, accounts, qos, nodes;
  bool me = false, batch = false, full = false, quiet = false, verbose = false, interactive = false, ignored = false;
  int signo = 0;

  bool has_filter() const {
    return me || !(users.empty() && partitions.empty() && names.empty() && states.empty() && accounts.empty() &&
                   qos.empty() && nodes.empty());
  }
};

std::vector<client::Option> table(CancelOptions& o, client::CommonFlags& flags) {
  std::vector<client::Option> t;
  t.push_back({"user", 'u', Arg::kRequired, "USERS", "jobs of these users (names or numbers)", "USER", client::kPlain,
               lists(o.users, "-u/--user")});
  t.push_back({"me", 0, Arg::kNone, {}, "my jobs", {}, client::kPlain, sets(o.me)});
  t.push_back({"partition", 'p', Arg::kRequired, "NAMES", "jobs in these partitions", "PARTITION", client::kPlain,
               lists(o.partitions, "-p/--partition")});
  t.push_back({"name", 'n', Arg::kRequired, "NAMES", "jobs of these names", "NAME", client::kPlain,
               lists(o.names, "-n/--name")});
  t.push_back({"jobname", 0, Arg::kRequired, "NAMES", {}, {}, client::kHidden, lists(o.names, "--jobname")});
  t.push_back({"state", 't', Arg::kRequired, "STATES", "jobs in these states: PENDING, RUNNING, SUSPENDED", "STATE",
               client::kPlain, lists(o.states, "-t/--state")});
  t.push_back({"account", 'A', Arg::kRequired, "NAMES", "jobs of these accounts", "ACCOUNT", client::kPlain,
               lists(o.accounts, "-A/--account")});
  t.push_back(
      {"qos", 'q', Arg::kRequired, "NAMES", "jobs of these QOS", "QOS", client::kPlain, lists(o.qos, "-q/--qos")});
  t.push_back(
      {"nodelist", 'w', Arg::kRequired, "NODES", "jobs on these nodes", {}, client::kPlain, [&o](Text v) -> Status {
         GW_TRY(names, base::expand_hostlist(v));
         o.nodes.insert(o.nodes.end(), names.begin(), names.end());
         return {};
       }});
  t.push_back({"signal",
               's',
               Arg::kRequired,
               "SIGNAL",
               "send this signal instead of ending the job",
               {},
               client::kPlain,
               [&o](Text v) -> Status {
                 auto signo = parse_signal(v);
                 if (!signo)
                   return base::fail(signo.error().code, "-s/--signal: " + signo.error().what, signo.error().hint);
                 o.signo = *signo;
                 return {};
               }});
  t.push_back({"batch", 'b', Arg::kNone, {}, "signal the batch script alone", "BATCH", client::kPlain, sets(o.batch)});
  t.push_back({"full",
               'f',
               Arg::kNone,
               {},
               "signal the batch script and all its children",
               "FULL",
               client::kPlain,
               sets(o.full)});
  t.push_back(
      {"interactive", 'i', Arg::kNone, {}, "ask about every job", "INTERACTIVE", client::kPlain, sets(o.interactive)});
  t.push_back({"quiet", 'Q', Arg::kNone, {}, "no messages", {}, client::kPlain, sets(o.quiet)});
  t.push_back({"verbose", 'v', Arg::kNone, {}, "say what is done", "VERBOSE", client::kPlain, sets(o.verbose)});
  t.push_back({"ctld", 0, Arg::kNone, {}, {}, {}, client::kHidden, sets(o.ignored)});
  t.push_back({"hurry", 'H', Arg::kNone, {}, {}, {}, client::kHidden, sets(o.ignored)});
  client::add_common_options(t, flags, 0);
  static constexpr client::Unsupported kUnsupported[] = {
      {"clusters", 'M'}, {"reservation", 'R'}, {"wckey"}, {"sibling"}, {"cron", 0, Arg::kNone}};
  client::add_unsupported(t, kUnsupported);
  return t;
}

client::CommandDoc doc() {
  client::CommandDoc d;
  d.summary = "cancel jobs or send them signals";
  d.synopsis = "[OPTIONS] [JOB_ID...]";
  d.description =
      "Ends the named jobs, or all that pass every filter given. Ids may be lists and ranges: 1,2 or 5-9. Jobs that do "
      "not exist or "
      "have ended are passed over in silence.";
  d.exit_codes = {{"0", "done, or there was nothing to do"},
                  {"1", "bad option or id, permission denied, or the controller is out of reach"}};
  d.environment = {{"GANGWAY_CONF", "configuration file"}};
  d.examples = {{"gcancel 7 9-12", "cancel five jobs"},
                {"gcancel -u alice -t PENDING", "what of alice's has not started"},
                {"gcancel -s USR1 7", "send job 7 a signal"}};
  d.env_prefixes = {"SCANCEL_", "GCANCEL_"};
  return d;
}

Status add_states(const CancelOptions& o, wire::JobFilter& f) {
  for (const std::string& text : o.states) {
    GW_TRY(state, model::parse_job_state(text));
    if (model::is_end(state))
      return base::invalid("-t/--state: jobs that are " + std::string(model::long_name(state)) + " have ended",
                           "PENDING, RUNNING and SUSPENDED jobs can be cancelled");
    f.add_states(static_cast<uint32_t>(state));
  }
  return {};
}

base::Result<wire::JobFilter> make_filter(const CancelOptions& o) {
  wire::JobFilter f;
  GW_TRY_STATUS(add_states(o, f));
  for (uint32_t id : o.ids) f.add_ids(id);
  for (const std::string& user : o.users) {
    auto uid = base::parse_int(user, 0, UINT32_MAX, "-u/--user");
    if (uid)
      f.add_uids(static_cast<uint32_t>(*uid));
    else
      f.add_users(user);
  }
  if (o.me) f.add_uids(::geteuid());
  f.mutable_partitions()->Assign(o.partitions.begin(), o.partitions.end());
  f.mutable_names()->Assign(o.names.begin(), o.names.end());
  f.mutable_nodes()->Assign(o.nodes.begin(), o.nodes.end());
  f.mutable_accounts()->Assign(o.accounts.begin(), o.accounts.end());
  f.mutable_qos()->Assign(o.qos.begin(), o.qos.end());
  return f;
}

/// Asks about every job that the filter finds; the ids that were agreed to.
base::Result<std::vector<uint32_t>> ask_each(client::Connection& connection, const wire::JobFilter& filter) {
  wire::ApiRequest request;
  *request.mutable_list_jobs()->mutable_filter() = filter;
  GW_TRY(reply, connection.call(std::move(request)));
  std::vector<uint32_t> agreed;
  for (const wire::Job& job : reply.list_jobs().jobs()) {
    if (model::is_end(client::state_of(job))) continue;
    std::cerr << fmt::format("Cancel job_id={} name={} partition={} [y/n]? ", job.id(),
                             base::printable(job.spec().name(), 60), client::partition_of(job))
              << std::flush;
    std::string answer;
    if (!std::getline(std::cin, answer)) break;
    if (!answer.empty() && (answer[0] == 'y' || answer[0] == 'Y')) agreed.push_back(job.id());
  }
  return agreed;
}

/// A job that is gone needs no cancelling; a signal, though, should reach somebody.
bool is_silent(const wire::Error& e, bool is_signal) {
  const auto code = static_cast<base::ErrorCode>(e.code());
  return code == base::ErrorCode::kNotFound || (!is_signal && code == base::ErrorCode::kConflict);
}

int report(const Program& program, const CancelOptions& o, const wire::CancelReply& reply) {
  int code = client::kExitOk;
  if (o.verbose)
    for (uint32_t id : reply.done())
      client::print_note(program, fmt::format("{} job {}", o.signo != 0 ? "Signalled" : "Terminating", id));
  for (const wire::JobFault& fault : reply.faults()) {
    const bool silent = is_silent(fault.error(), o.signo != 0);
    if (!silent) code = client::kExitFailed;
    if (o.quiet || (silent && !o.verbose)) continue;
    client::print_error(program, fmt::format("Kill job error on job id {}: {}", fault.id(), fault.error().what()));
  }
  return code;
}

}  // namespace

int run_gcancel(const Program& program, Args args) {
  CancelOptions o;
  client::CommonFlags flags;
  const auto t = table(o, flags);
  Parsed parsed = parse_command(program, doc(), t, flags, args, client::kExitUsage);
  if (parsed.exit) return *parsed.exit;
  for (const std::string& operand : parsed.operands)
    if (auto done = parse_job_ids(operand, o.ids); !done) return failed(program, done.error());
  if (o.ids.empty() && !o.has_filter())
    return failed(program, {base::ErrorCode::kInvalid, "No job identification provided",
                            "name job ids, or filters such as -u or --me"});
  auto filter = make_filter(o);
  if (!filter) return failed(program, filter.error());
  auto connection = client::connect(program);
  if (!connection) return failed(program, connection.error());
  if (o.interactive) {
    auto agreed = ask_each(*connection, *filter);
    if (!agreed) return failed(program, agreed.error());
    if (agreed->empty()) return client::kExitOk;
    filter->mutable_ids()->Assign(agreed->begin(), agreed->end());
  }
  wire::ApiRequest request;
  wire::CancelRequest& cancel = *request.mutable_cancel();
  *cancel.mutable_filter() = *filter;
  cancel.set_signo(o.signo);
  cancel.set_batch_only(o.batch);
  cancel.set_full(o.full);
  auto reply = connection->call(std::move(request));
  return reply ? report(program, o, reply->cancel()) : failed(program, reply.error());
}

}  // namespace gw::cmds
