// gqueue (squeue): lists jobs.
#include <algorithm>
#include <cstdlib>

#include "base/text.h"
#include "client/job_fields.h"
#include "client/json.h"
#include "cmds/commands.h"
#include "cmds/job_filter.h"
#include "cmds/listing.h"

namespace gw::cmds {
namespace {

using base::Status;
using client::Arg;
using client::JobRow;
using client::Program;
using Text = std::string_view;

struct QueueOptions {
  JobFilters filters;
  ListingOptions listing;
  bool start = false, by_priority = false;
  bool ids_follow = false;
  bool ignored = false;  ///< Options that mean nothing here: -a, -r, --noconvert.
};

constexpr ListingWords kWords = {"columns by letter: \"%.18i %.9P %j\"", "columns by name: JobID:8,Name:.20,State",
                                 "order by letters of fields, - reverses: P,t,-p", "FORMAT2"};

void add_filters(std::vector<client::Option>& t, QueueOptions& o) {
  add_job_filters(t, o.filters, {"USERS", "NAMES"});
  t.push_back({"jobs", 'j', Arg::kOptional, "IDS", "these jobs: 5, 1,2, 5-9", {}, client::kPlain, [&o](Text v) {
                 o.ids_follow = v.empty();  // getopt gives no value to `-j 7`: the ids are the first operand
                 return v.empty() ? Status{} : parse_job_ids(v, o.filters.ids);
               }});
  t.push_back({"states", 't', Arg::kRequired, "STATES", "jobs in these states (names or letters), or all", "STATES",
               client::kPlain, lists(o.filters.states, "-t/--states")});
}

void add_output(std::vector<client::Option>& t, QueueOptions& o) {
  add_listing_options(t, o.listing, kWords);
  t.push_back(
      {"start", 0, Arg::kNone, {}, "pending jobs with their expected start", {}, client::kPlain, sets(o.start)});
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

constexpr client::Unsupported kUnsupported[] = {{"clusters", 'M'},           {"cluster"},
                                                {"licenses", 'L'},           {"steps", 's', Arg::kOptional},
                                                {"yaml", 0, Arg::kOptional}, {"only-job-state", 0, Arg::kNone}};

client::CommandDoc doc() {
  client::CommandDoc d;
  d.summary = "list jobs";
  d.synopsis = "[OPTIONS]";
  d.description =
      "Lists jobs that have not ended. With --states=all also those that ended in the last minutes (jobs.min_job_age).";
  d.exit_codes = {{"0", "listed"},
                  {"1", "bad option, unknown job id, user, partition, QOS or node, or the controller is out of reach"}};
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

Status set_states(const QueueOptions& o, wire::JobFilter& f) {
  using model::JobState;
  std::vector<std::string> states = o.start ? std::vector<std::string>{"PENDING"} : o.filters.states;
  if (states.empty()) {
    for (int s = 0; s <= static_cast<int>(JobState::kCompleting); ++s) f.add_states(static_cast<uint32_t>(s));
    return {};
  }
  for (const std::string& text : states) {
    if (base::iequals(text, "all")) {
      f.set_all_states(true);
      continue;
    }
    GW_TRY(state, model::parse_job_state(text));
    f.add_states(static_cast<uint32_t>(state));
  }
  if (f.all_states()) f.clear_states();
  return {};
}

base::Result<wire::JobFilter> make_filter(const QueueOptions& o) {
  GW_TRY(filter, to_filter(o.filters));
  GW_TRY_STATUS(set_states(o, filter));
  return filter;
}

struct View {
  client::Format format;
  std::vector<client::SortKey> sort;
};

base::Result<View> make_view(const QueueOptions& o) {
  const auto names = client::field_names(client::job_fields());
  const Text standard = o.start             ? client::kQueueStartFormat
                        : o.listing.is_long ? client::kQueueLongFormat
                                            : client::kQueueFormat;
  GW_TRY(format, make_format(o.listing, standard, names));
  const Text order = !o.listing.sort.empty() ? Text(o.listing.sort)
                     : o.by_priority         ? Text("-p")
                     : o.start               ? Text("S")
                                             : client::kQueueSort;
  GW_TRY(sort, client::parse_sort(order, names));
  return View{format, sort};
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
  return render_listing(o.listing, view.format, fields, rows, now);
}

int unknown_job(const Program& program, const wire::ListJobsReply& reply) {
  if (program.is_slurm) {  // clients look for this text
    client::print_note({"slurm_load_jobs error", true}, "Invalid job id specified");
    return client::kExitFailed;
  }
  return failed(program,
                {base::ErrorCode::kNotFound, "Invalid job id specified: " + std::to_string(reply.unknown_ids(0)),
                 "jobs that ended a while ago are gone from the queue"});
}

int show(const Program& program, client::Connection& connection, const QueueOptions& o, const View& view,
         const wire::JobFilter& filter) {
  wire::ApiRequest request;
  *request.mutable_list_jobs()->mutable_filter() = filter;
  auto reply = connection.call(std::move(request));
  if (!reply) return failed(program, reply.error());
  const wire::ListJobsReply& list = reply->list_jobs();
  if (o.filters.ids.size() == 1 && list.unknown_ids_size() == 1) return unknown_job(program, list);
  if (auto known = check_names(connection, filter, list.jobs()); !known) return failed(program, known.error());
  return printed(o.listing.json ? client::jobs_json(list.jobs(), list.now_us()) : render(o, view, list));
}

/// The command line replaces what the environment says, rather than adding to it.
Status fill_from_environment(QueueOptions& o) {
  QueueOptions from_env;
  client::CommonFlags unused;
  GW_TRY_STATUS(client::read_environment(table(from_env, unused), doc().env_prefixes,
                                         [](const char* n) { return std::getenv(n); }));
  fill_filters(o.filters, from_env.filters);
  if (o.listing.sort.empty()) o.listing.sort = from_env.listing.sort;
  const ListingOptions& mine = o.listing;
  if (mine.format.empty() && mine.long_format.empty() && !mine.is_long && !o.start)
    o.listing.format = from_env.listing.format, o.listing.long_format = from_env.listing.long_format;
  return {};
}

}  // namespace

int run_gqueue(const Program& program, Args args) {
  QueueOptions o;
  client::CommonFlags flags;
  Parsed parsed = parse_command(program, doc(), table(o, flags), flags, args, client::kExitUsage);
  if (parsed.exit) return *parsed.exit;
  if (auto done = fill_from_environment(o); !done) return failed(program, done.error());
  if (o.ids_follow && !parsed.operands.empty()) {
    if (auto done = parse_job_ids(parsed.operands.front(), o.filters.ids); !done) return failed(program, done.error());
    parsed.operands.erase(parsed.operands.begin());
  }
  if (!parsed.operands.empty()) return refuse_operand(program, parsed.operands.front(), "job ids go with -j");
  auto view = make_view(o);
  if (!view) return failed(program, view.error());
  auto filter = make_filter(o);
  if (!filter) return failed(program, filter.error());
  auto connection = client::connect(program);
  if (!connection) return failed(program, connection.error());
  return show_repeatedly(o.listing.iterate_seconds, [&] { return show(program, *connection, o, *view, *filter); });
}

}  // namespace gw::cmds
