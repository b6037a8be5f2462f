// gcontrol (scontrol): shows and changes jobs, nodes, partitions; reads the configuration again.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "base/counted.h"
#include "base/text.h"
#include "base/utf8.h"
#include "client/show/show_json.h"
#include "cmds/gcontrol/control_verbs.h"
#include "cmds/shared/job_faults.h"
#include "cmds/shared/job_ids.h"

namespace gw::cmds {
namespace {

using client::Arg;
using client::Program;
using Text = std::string_view;

std::vector<client::Option> table(ControlOptions& o, client::CommonFlags& flags) {
  std::vector<client::Option> t;
  const auto flag = [&t](Text name, char letter, Text help, bool& value) {
    t.push_back({name, letter, Arg::kNone, {}, help, {}, client::kPlain, sets(value)});
  };
  flag("details", 'd', "jobs node by node: cores and GPUs", o.style.detail);
  flag("oneliner", 'o', "a record on one line", o.style.one_line);
  flag("history", 0, "a job's life, event by event", o.history);
  flag("effective", 0, "every key of a partition with its value and where that comes from", o.effective);
  flag("quiet", 'Q', "no messages but errors", o.quiet);
  t.push_back({"verbose",
               'v',
               Arg::kNone,
               {},
               "say more: of when what is shown is; -vv: each request, too",
               {},
               client::kPlain,
               [](Text) { return base::Status{}; }});
  flag("all", 'a', "all partitions (always so)", o.all);
  t.push_back({"json", 0, Arg::kOptional, {}, "JSON with a schema_version", {}, client::kPlain, sets(o.json)});
  t.push_back({"hide", 0, Arg::kNone, {}, {}, {}, client::kHidden, sets(o.all)});
  for (std::string_view name : {"federation", "sibling", "future"})  // there is one cluster, and no node to come
    t.push_back({name, name == "future" ? 'F' : '\0', Arg::kNone, {}, {}, {}, client::kHidden, sets(o.all)});
  t.push_back({"local", 0, Arg::kNone, {}, {}, {}, client::kHidden, sets(o.all)});
  add_cluster_option(t);
  client::add_common_options(t, flags);
  static constexpr client::Unsupported kUnsupported[] = {{"uid", 'u'}, {"yaml", 0, Arg::kOptional}};
  client::add_unsupported(t, kUnsupported);
  return t;
}

client::CommandDoc doc() {
  client::CommandDoc d;
  d.summary = "show and change jobs, nodes and partitions";
  d.synopsis = "[OPTIONS] COMMAND [ARGUMENTS]";
  static const std::string description =
      "show job [ID] | node [NAMES] | partition [NAME] | reservation [NAME] | step [ID|ID.STEP|all] | heldaside | "
      "events [job=ID|node=NAME] [last=COUNT] | audit [user=NAME] [last=COUNT] [start=TIME] [end=TIME] | "
      "config | license [NAMES] | topology [SWITCH|NODE] | daemons | aliases [HOSTS] | "
      "assoc_mgr [users=NAMES|accounts=NAMES|qos=NAMES|flags=users,assoc,qos] | "
      "hostnames [LIST] | hostlist "
      "NAMES | hostlistsorted "
      "NAMES\n\n"
      "update JobId=IDS KEY=VALUE...: " +
      job_update_keys() +
      "; TimeLimit+=TIME and TimeLimit-=TIME change the present limit; JobName=NAME [UserId=USER] in place of JobId "
      "means all jobs of that name that wait or run" +
      "\n\n"
      "update NodeName=NAMES|ALL State=DRAIN|RESUME|DOWN Reason=TEXT [Dead=yes]; update NodeName=NAME Gpu=INDICES "
      "State=OFFLINE|ONLINE Reason=TEXT; update NodeName=NAMES Foreign=END\n\n"
      "create PartitionName=NAME Nodes=LIST|ALL KEY=VALUE..., update PartitionName=NAME KEY=VALUE...: Nodes=LIST|ALL "
      "State=UP|DOWN|DRAIN|INACTIVE MaxTime=TIME DefaultTime=TIME PriorityTier=N Default=YES|NO QOS=NAME MaxNodes=N "
      "AllowQos=NAMES|ALL (or AllowAccounts) AllowUsers=NAMES|ALL AllowGroups=NAMES|ALL OverSubscribe=EXCLUSIVE|NO "
      "DefaultFor=compute,aux|none Consolidate=OFF|DRY_RUN|ON|DEFAULT Fit=BEST|WORST|SPREAD|DEFAULT GraceTime=SECONDS; "
      "delete PartitionName=NAME. QOS is that of jobs that name none; DEFAULT is the cluster's\n\n"
      "create ReservationName=NAME StartTime=TIME Duration=TIME|EndTime=TIME Nodes=LIST|ALL|NodeCnt=N "
      "[PartitionName=NAME] Users=NAMES Accounts=NAMES Flags=MAINT,HOURLY,DAILY,WEEKLY,IGNORE_JOBS,OVERLAP; "
      "update ReservationName=NAME with the same keys (Users+=NAME and Users-=NAME change a list); "
      "delete ReservationName=NAME\n\n"
      "show events: what happened of late, oldest first, with its time, what it is about and who did it (-: the "
      "controller itself); the last 100 unless last= says how many\n\n"
      "show audit: what administrators and operators did to what is not their own, and what was refused to whom, "
      "oldest "
      "first; the last 100 unless last= says how many; administrators only\n\n"
      "setdebug error|warning|info|debug: how much the controller writes into its log, until it is restarted; "
      "administrators only\n\n"
      "show heldaside: rows of the controller's state that could not be read when it started, and why; delete "
      "HeldAside=KIND:NAME: one of them goes, and what still runs of it is ended; administrators only\n\n"
      "hold, uhold, release, requeue, requeuehold, suspend, resume IDS; write batch_script ID [FILE]; completing; "
      "wait_job ID "
      "(returns once it runs); notify JOB TEXT (a line in the standard error of its script, and at the clients of its "
      "steps and at its galloc); top IDS (before the other jobs of the same user, account, partition and QOS, "
      "whose nice values rise); listpids [JOB|JOB.STEP] (processes of jobs on this machine: one's own, or root's of "
      "all); "
      "errnumstr NUMBER; reconfigure; "
      "ping; version; help\n\n"
      "snapshot [FILE]: the scheduler's whole input at its next pass, with what it decided, for gangway simulate "
      "--from-live; administrators only\n\n"
      "Commands may be shortened and keys are taken in any case. Dead=yes says that nothing of the node's jobs lives "
      "any more: only then may "
      "they run elsewhere. Foreign=END ends runs that the controller's state does not know (show node lists them as "
      "ForeignRuns): its state was restored from an older copy, or is another one.";
  d.description = description;
  d.exit_codes = {{"0", "done"}, {"1", "bad command, refused, not found, or the controller is out of reach"}};
  d.environment = {{"GANGWAY_CONF", "configuration file"},
                   {"SLURM_JOB_NODELIST", "what show hostnames expands without an argument"}};
  d.words =
      "show update create delete hold uhold release requeue requeuehold suspend resume reconfigure ping snapshot "
      "version write completing wait_job notify top setdebug errnumstr listpids help";
  d.examples = {
      {"gcontrol show job 7 --history", "what happened to job 7"},
      {"gcontrol show events node=n3 last=20", "what happened to n3 of late"},
      {"gcontrol update NodeName=n3 State=DRAIN Reason=\"fan broken\"", "no new jobs for n3"},
      {"gcontrol create ReservationName=course StartTime=2027-03-01T09:00 Duration=2:00:00 NodeCnt=2 Users=ann,ben",
       "two nodes for a course"},
      {"gcontrol show partition debug --effective", "what holds there, and who says so"},
      {"gcontrol create PartitionName=debug Nodes=n[1-4] MaxTime=1:00:00 QOS=scavenger", "a partition"},
      {"gcontrol update NodeName=n3 Gpu=5 State=OFFLINE Reason=ECC", "take one GPU out"}};
  return d;
}

int show_help(const Program& program, const ControlOptions&, Args words);

int show_version(const Program& program, const ControlOptions&, Args words) {
  if (!words.empty()) return refuse_operand(program, words.front(), "version takes no arguments");
  return printed(client::version_line(program) + "\n");
}

template <wire::JobAction kAction>
int act(const Program& program, const ControlOptions& o, Args words) {
  return control_job_action(program, o, kAction, words);
}

struct Verb {
  Text name;
  int (*run)(const Program&, const ControlOptions&, Args);
};
constexpr Verb kVerbs[] = {
    {"show", control_show},
    {"update", control_update},
    {"create", control_create},
    {"delete", control_delete},
    {"hold", act<wire::kHold>},
    {"uhold", act<wire::kUserHold>},
    {"release", act<wire::kRelease>},
    {"requeue", act<wire::kRequeue>},
    {"requeuehold", act<wire::kRequeueHold>},
    {"suspend", act<wire::kSuspend>},
    {"resume", act<wire::kResume>},
    {"reconfigure", control_reconfigure},
    {"ping", control_ping},
    {"snapshot", control_snapshot},
    {"version", show_version},
    {"write", control_write},
    {"completing", control_completing},
    {"wait_job", control_wait_job},
    {"errnumstr", control_errnumstr},
    {"listpids", control_listpids},
    {"notify", control_notify},
    {"top", control_top},
    {"setdebug", control_setdebug},
    {"help", show_help},
};
constexpr Text kNotHere[] = {"abort", "cancel_reboot", "reboot",  "shutdown",          "setdebugflags", "takeover",
                             "token", "power",         "cluster", "fsdampeningfactor", "pidinfo",       "scontrol"};

int show_help(const Program& program, const ControlOptions&, Args words) {
  if (!words.empty()) return refuse_operand(program, words.front(), "help takes no arguments");
  ControlOptions unused;
  client::CommonFlags flags;
  return printed(client::help_text(program, doc(), table(unused, flags),
                                   program.is_slurm ? client::HelpLook{} : client::look_of_terminal()));
}

int unknown_verb(const Program& program, const std::string& word) {
  const std::string lower = base::to_lower(word);
  if (std::find(std::begin(kNotHere), std::end(kNotHere), lower) != std::end(kNotHere))
    return failed(program, {base::ErrorCode::kInvalid, "command " + lower + " is not supported in this version", {}});
  std::vector<std::string> names, possible;
  for (const Verb& v : kVerbs) {
    names.emplace_back(v.name);
    if (!lower.empty() && v.name.starts_with(lower)) possible.emplace_back(v.name);
  }
  if (possible.size() > 1)
    return failed(program, {base::ErrorCode::kInvalid, "keyword " + base::printable(word) + " is ambiguous",
                            "possibilities: " + base::join(possible, ", ")});
  std::string hint = base::did_you_mean(lower, names);
  return failed(program, {base::ErrorCode::kInvalid, "invalid keyword: " + base::printable(word),
                          hint.empty() ? "commands: " + base::join(names, ", ") : hint});
}

}  // namespace

std::string match_word(Text word, std::span<const Text> names) {
  const std::string lower = base::to_lower(word);
  std::string found;
  for (Text name : names) {
    if (name == lower) return lower;
    if (lower.empty() || !name.starts_with(lower)) continue;
    if (!found.empty()) return {};
    found = name;
  }
  return found;
}

std::string last_update(const ControlOptions& o, int64_t now_us, int records) {
  if (o.verbose == 0 || o.json) return {};
  return fmt::format("last_update_time={}, {} records\n", base::format_time({now_us}), records);
}

int run_gcontrol(const Program& called, Args args) {
  ControlOptions o;
  client::CommonFlags flags;
  Parsed parsed = parse_command(called, doc(), table(o, flags), flags, args, client::kExitUsage);
  if (parsed.exit) return *parsed.exit;
  o.verbose = parsed.verbose;
  const Program program = louder(called, parsed);
  o.style.is_slurm = program.is_slurm;
  if (parsed.operands.empty())
    return failed(
        program, {base::ErrorCode::kInvalid, "no command given", "such as: " + program.name + " show job; see --help"});
  for (const std::string& word : parsed.operands)
    if (!base::is_utf8(word))
      return failed(program, {base::ErrorCode::kInvalid, "not valid UTF-8: " + base::printable(word), {}});
  std::vector<Text> names;
  for (const Verb& v : kVerbs) names.push_back(v.name);
  const std::string name = match_word(parsed.operands.front(), names);
  const auto verb = std::find_if(std::begin(kVerbs), std::end(kVerbs), [&](const Verb& v) { return v.name == name; });
  if (verb == std::end(kVerbs)) return unknown_verb(program, parsed.operands.front());
  return verb->run(program, o, Args(parsed.operands).subspan(1));
}

int control_job_action(const Program& program, const ControlOptions& o, wire::JobAction action, Args words) {
  JobIds ids;
  for (const std::string& word : words) {
    const size_t equals = word.find('=');
    const bool has_key =
        equals != std::string::npos && base::iequals(std::string_view(word).substr(0, equals), "jobid");
    if (auto done = parse_job_ids(has_key ? std::string_view(word).substr(equals + 1) : std::string_view(word), ids);
        !done)
      return failed(program, done.error());
  }
  if (ids.empty()) return failed(program, {base::ErrorCode::kInvalid, "no job id given", {}});
  wire::ApiRequest request;
  ids.put(*request.mutable_job_action()->mutable_ids(), *request.mutable_job_action()->mutable_tasks());
  request.mutable_job_action()->set_action(action);
  auto reply = ask(program, std::move(request));
  if (!reply) return failed(program, reply.error());
  return report_faults(program, reply->jobs().faults(), o.quiet);
}

int control_reconfigure(const Program& program, const ControlOptions& o, Args words) {
  if (!words.empty()) return refuse_operand(program, words.front(), "reconfigure takes no arguments");
  wire::ApiRequest request;
  request.mutable_reconfigure();
  auto reply = ask(program, std::move(request));
  if (!reply) return failed(program, reply.error());
  for (const std::string& warning : reply->reconfigure().warnings()) client::print_note(program, "warning: " + warning);
  if (o.quiet) return client::kExitOk;
  std::string out;
  for (const std::string& change : reply->reconfigure().changes()) out += change + "\n";
  return printed(out.empty() ? "nothing changed\n" : out);
}

int control_ping(const Program& program, const ControlOptions& o, Args words) {
  if (!words.empty()) return refuse_operand(program, words.front(), "ping takes no arguments");
  // Somebody who asks whether it is up wants to know now.
  ::setenv("GANGWAY_TIMEOUT", "3", 0);
  auto config = client::load_config();
  if (!config) return failed(program, config.error());
  const std::string where = fmt::format("{}:{}", config->controller_host, config->controller_port);
  auto connection = client::open_connection(program, *config);
  if (!connection) return failed(program, connection.error());
  wire::ApiRequest request;
  request.mutable_ping();
  auto reply = connection->call(std::move(request));
  const std::string_view state = reply ? "UP" : "DOWN";
  if (!reply) client::print_error(program, reply.error());
  if (reply && o.json) return printed(client::ping_json(reply->ping()));
  std::string line = program.is_slurm ? fmt::format("Slurmctld(primary) at {} is {}", config->controller_host, state)
                                      : fmt::format("Controller at {} is {}", where, state);
  if (reply && !program.is_slurm) {
    const wire::PingReply& p = reply->ping();
    line +=
        fmt::format(": cluster {}, version {}, {} of {} connected, {} running, {} pending", p.cluster(), p.version(),
                    p.nodes_up(), base::counted(p.nodes(), "node"), base::counted(p.running(), "job"), p.pending());
    if (p.held_aside() > 0)
      line += fmt::format(", {} held aside (see show heldaside)", base::counted(p.held_aside(), "row"));
    if (p.store_state() != "ok") line += ", store: " + p.store_state();
  }
  const int code = printed(line + "\n");
  return reply ? code : client::kExitFailed;
}

}  // namespace gw::cmds
