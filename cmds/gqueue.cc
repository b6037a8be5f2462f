// gqueue (squeue): lists jobs.
#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <thread>

#include "base/hostlist.h"
#include "base/text.h"
#include "client/job_fields.h"
#include "client/json.h"
#include "cmds/commands.h"

namespace gw::cmds {
namespace {

using base::Status;
using client::Arg;
using client::JobRow;
using client::Program;
using Text = std::string_view;

struct QueueOptions {
  std::vector<uint32_t> ids;
  std::vector<std::string> users, partitions, states, names, nodes, accounts, qos;
  bool me = false, no_header = false, is_long = false, start = false, json = false, by_priority = false;
  std::string format, long_format, sort;
  int64_t iterate_seconds = 0;
  bool ids_follow = false;
  bool ignored = false;  ///< Options that mean nothing here: -a, -r, --noconvert.
};

client::Handler host_names(std::vector<std::string>& nodes) {
  return [&nodes](Text value) -> Status {
    GW_TRY(names, base::expand_hostlist(value));
    nodes.insert(nodes.end(), names.begin(), names.end());
    return {};
  };
}

void add_filters(std::vector<client::Option>& t, QueueOptions& o) {
  t.push_back({"user", 'u', Arg::kRequired, "USERS", "jobs of these users (names or numbers)", "USERS", client::kPlain,
               lists(o.users, "-u/--user")});
  t.push_back({"me", 0, Arg::kNone, {}, "my jobs", {}, client::kPlain, sets(o.me)});
  t.push_back({"jobs", 'j', Arg::kOptional, "IDS", "these jobs: 5, 1,2, 5-9", {}, client::kPlain, [&o](Text v) {
                 o.ids_follow = v.empty();  // getopt gives no value to `-j 7`: the ids are the first operand
                 return v.empty() ? Status{} : parse_job_ids(v, o.ids);
               }});
  t.push_back({"partition", 'p', Arg::kRequired, "NAMES", "jobs in these partitions", "PARTITION", client::kPlain,
               lists(o.partitions, "-p/--partition")});
  t.push_back({"states", 't', Arg::kRequired, "STATES", "jobs in these states (names or letters), or all", "STATES",
               client::kPlain, lists(o.states, "-t/--states")});
  t.push_back({"name", 'n', Arg::kRequired, "NAMES", "jobs of these names", "NAMES", client::kRaw,
               lists(o.names, "-n/--name")});
  t.push_back(
      {"nodelist", 'w', Arg::kRequired, "NODES", "jobs on these nodes", {}, client::kPlain, host_names(o.nodes)});
  t.push_back({"account", 'A', Arg::kRequired, "NAMES", "jobs of these accounts", "ACCOUNT", client::kPlain,
               lists(o.accounts, "-A/--account")});
  t.push_back(
      {"qos", 'q', Arg::kRequired, "NAMES", "jobs of these QOS", "QOS", client::kPlain, lists(o.qos, "-q/--qos")});
}

void add_output(std::vector<client::Option>& t, QueueOptions& o) {
  t.push_back({"format", 'o', Arg::kRequired, "FORMAT", "columns by letter: \"%.18i %.9P %j\"", "FORMAT", client::kRaw,
               keeps(o.format)});
  t.push_back({"Format", 'O', Arg::kRequired, "FIELDS", "columns by name: JobID:8,Name:.20,State", "FORMAT2",
               client::kRaw, keeps(o.long_format)});
  t.push_back({"noheader", 'h', Arg::kNone, {}, "no header line", {}, client::kPlain, sets(o.no_header)});
  t.push_back({"long", 'l', Arg::kNone, {}, "more columns", {}, client::kPlain, sets(o.is_long)});
  t.push_back({"sort", 'S', Arg::kRequired, "KEYS", "order by letters of fields, - reverses: P,t,-p", "SORT",
               client::kPlain, keeps(o.sort)});
  t.push_back(
      {"start", 0, Arg::kNone, {}, "pending jobs with their expected start", {}, client::kPlain, sets(o.start)});
  t.push_back({"json", 0, Arg::kOptional, {}, "JSON with a schema_version", {}, client::kPlain, sets(o.json)});
  t.push_back({"iterate",
               'i',
               Arg::kRequired,
               "SECONDS",
               "again every so many seconds",
               {},
               client::kPlain,
               [&o](Text v) -> Status {
                 GW_TRY(seconds, base::parse_int(v, 1, 1'000'000, "-i/--iterate"));
                 o.iterate_seconds = seconds;
                 return {};
               }});
  t.push_back({"all", 'a', Arg::kNone, {}, "all partitions (always so)", "ALL", client::kPlain, sets(o.ignored)});
  t.push_back({"array",
               'r',
               Arg::kNone,
               {},
               "one line for each array element (always so)",
               {},
               client::kPlain,
               sets(o.ignored)});
  t.push_back(
      {"priority", 'P', Arg::kNone, {}, "highest priority first", "PRIORITY", client::kPlain, sets(o.by_priority)});
  for (Text name : {"hide", "noconvert", "local", "federation", "array-unique", "sibling"})
    t.push_back({name, 0, Arg::kNone, {}, {}, {}, client::kHidden, sets(o.ignored)});
  t.push_back({"verbose", 'v', Arg::kNone, {}, "say more", {}, client::kPlain, sets(o.ignored)});
}

constexpr client::Unsupported kUnsupported[] = {{"clusters", 'M'},
                                                {"cluster"},
                                                {"reservation", 'R'},
                                                {"licenses", 'L'},
                                                {"steps", 's', Arg::kOptional},
                                                {"yaml", 0, Arg::kOptional},
                                                {"only-job-state", 0, Arg::kNone}};

client::CommandDoc doc() {
  client::CommandDoc d;
  d.summary = "list jobs";
  d.synopsis = "[OPTIONS]";
  d.description =
      "Lists jobs that have not ended. With --states=all also those that ended in the last minutes (jobs.min_job_age).";
  d.exit_codes = {{"0", "listed"}, {"1", "bad option, unknown job id, or the controller is out of reach"}};
  d.environment = {{"GANGWAY_CONF", "configuration file"},
                   {"SLURM_TIME_FORMAT", "%s: times as seconds since the epoch"}};
  d.examples = {{"gqueue --me", "my jobs"}, {"gqueue -h -j 7 -o %T", "the state of job 7, alone"}};
  d.env_prefixes = {"SQUEUE_", "GQUEUE_"};
  return d;
}

std::vector<client::Option> table(QueueOptions& o, client::CommonFlags& flags) {
  std::vector<client::Option> t;
  t.reserve(48);
  add_filters(t, o);
  add_output(t, o);
  client::add_common_options(t, flags, 0);
  client::add_unsupported(t, kUnsupported);
  return t;
}

bool is_uid(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

Status set_states(const QueueOptions& o, wire::JobFilter& f) {
  using model::JobState;
  std::vector<std::string> states = o.start ? std::vector<std::string>{"PENDING"} : o.states;
  if (states.empty()) {
    for (int s = 0; s <= static_cast<int>(JobState::kCompleting); ++s) f.add_states(static_cast<uint32_t>(s));
    return {};
  }
  for (const std::string& text : states) {
    if (base::iequals(text, "all")) {
      f.set_all_states(true);
      f.clear_states();
      return {};
    }
    GW_TRY(state, model::parse_job_state(text));
    f.add_states(static_cast<uint32_t>(state));
  }
  return {};
}

base::Result<wire::ApiRequest> make_request(const QueueOptions& o) {
  wire::ApiRequest request;
  wire::JobFilter& f = *request.mutable_list_jobs()->mutable_filter();
  GW_TRY_STATUS(set_states(o, f));
  for (uint32_t id : o.ids) f.add_ids(id);
  for (const std::string& user : o.users) {
    if (!is_uid(user)) {
      f.add_users(user);
      continue;
    }
    GW_TRY(uid, base::parse_int(user, 0, UINT32_MAX, "-u/--user"));
    f.add_uids(static_cast<uint32_t>(uid));
  }
  if (o.me) f.add_uids(::geteuid());
  f.mutable_partitions()->Assign(o.partitions.begin(), o.partitions.end());
  for (const std::string& name : o.names) {
    if (!client::is_utf8(name)) return base::invalid("-n/--name: not valid UTF-8: " + base::printable(name, 60));
    f.add_names(name);
  }
  f.mutable_nodes()->Assign(o.nodes.begin(), o.nodes.end());
  f.mutable_accounts()->Assign(o.accounts.begin(), o.accounts.end());
  f.mutable_qos()->Assign(o.qos.begin(), o.qos.end());
  return request;
}

struct View {
  client::Format format;
  std::vector<client::SortKey> sort;
};

base::Result<View> make_view(const QueueOptions& o) {
  const auto names = client::field_names(client::job_fields());
  View v;
  if (!o.long_format.empty()) {
    GW_TRY(format, client::parse_long_format(o.long_format, names));
    v.format = std::move(format);
  } else {
    const Text standard = o.start     ? client::kQueueStartFormat
                          : o.is_long ? client::kQueueLongFormat
                                      : client::kQueueFormat;
    GW_TRY(format, client::parse_short_format(o.format.empty() ? standard : Text(o.format), names));
    v.format = std::move(format);
  }
  const Text order = !o.sort.empty() ? Text(o.sort)
                     : o.by_priority ? Text("-p")
                     : o.start       ? Text("S")
                                     : client::kQueueSort;
  GW_TRY(sort, client::parse_sort(order, names));
  v.sort = std::move(sort);
  return v;
}

std::string date_line(base::Time now) {
  const std::time_t t = now.seconds();
  std::tm local{};
  ::localtime_r(&t, &local);
  char text[64];
  return std::string(text, std::strftime(text, sizeof text, "%a %b %d %H:%M:%S %Y\n", &local));
}

std::string render(const QueueOptions& o, const View& view, const wire::ListJobsReply& reply) {
  const auto& fields = client::job_fields();
  const base::Time now{reply.now_us()};
  std::vector<JobRow> rows;
  for (const wire::Job& job : reply.jobs()) rows.push_back({&job, now});
  std::stable_sort(rows.begin(), rows.end(),
                   [](const JobRow& a, const JobRow& b) { return a.job->id() < b.job->id(); });
  std::stable_sort(rows.begin(), rows.end(),
                   [&](const JobRow& a, const JobRow& b) { return client::sorts_before(fields, view.sort, a, b); });
  client::Format format = view.format;
  client::fit_columns(format, fields, rows);
  std::string out;
  if (!o.no_header) {
    if (o.is_long || o.iterate_seconds != 0) out += date_line(now);
    out += client::render_header(format, fields);
  }
  for (const JobRow& row : rows) client::render_row(out, format, fields, row);
  return out;
}

/// A user that nobody has heard of is an error, as in Slurm; asked only when nothing was found.
Status check_users(const QueueOptions& o) {
  for (const std::string& user : o.users)
    if (!is_uid(user) && ::getpwnam(user.c_str()) == nullptr)
      return base::invalid("Invalid user: " + base::printable(user));
  return {};
}

int unknown_job(const Program& program, const wire::ListJobsReply& reply) {
  if (program.is_slurm) {  // clients look for this text
    client::print_note({"slurm_load_jobs error", true}, "Invalid job id specified");
    return client::kExitFailed;
  }
  return failed(program, {base::ErrorCode::kNotFound, fmt::format("Invalid job id specified: {}", reply.unknown_ids(0)),
                          "jobs that ended a while ago are gone from the queue"});
}

int show(const Program& program, client::Connection& connection, const QueueOptions& o, const View& view) {
  auto request = make_request(o);
  if (!request) return failed(program, request.error());
  auto reply = connection.call(std::move(*request));
  if (!reply) return failed(program, reply.error());
  const wire::ListJobsReply& list = reply->list_jobs();
  if (o.ids.size() == 1 && list.unknown_ids_size() == 1) return unknown_job(program, list);
  if (list.jobs().empty())
    if (auto known = check_users(o); !known) return failed(program, known.error());
  return printed(o.json ? client::jobs_json(list.jobs(), list.now_us()) : render(o, view, list));
}

}  // namespace

int run_gqueue(const Program& program, Args args) {
  QueueOptions o;
  client::CommonFlags flags;
  const auto t = table(o, flags);
  // The command line replaces what the environment says, rather than adding to it.
  Parsed parsed = parse_command(program, doc(), t, flags, args, client::kExitUsage);
  if (parsed.exit) return *parsed.exit;
  QueueOptions from_env;
  client::CommonFlags unused;
  if (auto done = client::read_environment(table(from_env, unused), doc().env_prefixes,
                                           [](const char* n) { return std::getenv(n); });
      !done)
    return failed(program, done.error());
  const auto fill = [](auto& mine, const auto& other) {
    if (mine.empty()) mine = other;
  };
  if (o.users.empty() && !o.me) o.users = from_env.users;
  fill(o.partitions, from_env.partitions);
  fill(o.states, from_env.states);
  fill(o.names, from_env.names);
  fill(o.accounts, from_env.accounts);
  fill(o.qos, from_env.qos);
  fill(o.sort, from_env.sort);
  if (o.format.empty() && o.long_format.empty() && !o.is_long && !o.start)
    o.format = from_env.format, o.long_format = from_env.long_format;
  if (o.ids_follow && !parsed.operands.empty()) {
    if (auto done = parse_job_ids(parsed.operands.front(), o.ids); !done) return failed(program, done.error());
    parsed.operands.erase(parsed.operands.begin());
  }
  if (!parsed.operands.empty())
    return failed(
        program, {base::ErrorCode::kInvalid, "unexpected argument \"" + base::printable(parsed.operands.front()) + "\"",
                  "job ids go with -j"});
  auto view = make_view(o);
  if (!view) return failed(program, view.error());
  if (auto request = make_request(o); !request) return failed(program, request.error());
  auto connection = client::connect(program);
  if (!connection) return failed(program, connection.error());
  while (true) {
    const int code = show(program, *connection, o, *view);
    if (o.iterate_seconds == 0 || code != client::kExitOk) return code;
    std::this_thread::sleep_for(std::chrono::seconds(o.iterate_seconds));
    if (printed("\n") != client::kExitOk) return client::kExitFailed;
  }
}

}  // namespace gw::cmds
