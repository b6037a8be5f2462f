// gqueue (squeue): lists jobs, or their steps.
#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>

#include "base/text.h"
#include "client/json/slurm_jobs.h"
#include "client/options/in_effect.h"
#include "client/show/array_view.h"
#include "client/show/job_fields.h"
#include "client/show/show_json.h"
#include "client/show/step_fields.h"
#include "cmds/shared/commands.h"
#include "cmds/shared/hidden_note.h"
#include "cmds/shared/job_filter.h"
#include "cmds/shared/listing_options.h"
#include "cmds/shared/step_list.h"
#include "model/named_counts.h"

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
  bool start = false, by_priority = false, by_task = false;
  bool is_steps = false;
  std::vector<std::string> licenses;
  StepChoice steps;
  std::string
      follow;  ///< -j or -s without a value: their lists are the first operands, as getopt gives none to `-j 7`.
  bool ignored = false;  ///< Options that mean nothing here: -a, --noconvert.
};

constexpr ListingWords kWords = {"columns by letter: \"%.18i %.9P %j\"", "columns by name: JobID:8,Name:.20,State",
                                 "order by letters of fields, - reverses: P,t,-p", "FORMAT2"};

void add_filters(std::vector<client::Option>& t, QueueOptions& o) {
  add_job_filters(t, o.filters, {"USERS", "NAMES"});
  t.push_back({"jobs", 'j', Arg::kOptional, "IDS", "these jobs: 5, 1,2, 5-9", {}, client::kPlain, [&o](Text v) {
                 if (v.empty()) o.follow += 'j';
                 return v.empty() ? Status{} : parse_job_ids(v, o.filters.ids);
               }});
  t.push_back({"steps",
               's',
               Arg::kOptional,
               "STEPS",
               "steps that run: all, or these: 7, 7.0, 7.batch, 7.extern",
               {},
               client::kPlain,
               [&o](Text v) {
                 o.is_steps = true;
                 if (v.empty()) o.follow += 's';
                 return v.empty() ? Status{} : parse_step_ids(v, o.steps);
               }});
  t.push_back({"licenses",
               'L',
               Arg::kRequired,
               "NAMES",
               "jobs that ask for one of these licences, or have it",
               {},
               client::kPlain,
               [&o](Text v) { return lists(o.licenses, "-L/--licenses")(v); }});
  t.push_back({"states", 't', Arg::kRequired, "STATES", "jobs in these states (names or letters), or all", "STATES",
               client::kPlain, [&o](std::string_view value) {
                 o.filters.states.clear();  // as in Slurm, the last one counts
                 return lists(o.filters.states, "-t/--states")(value);
               }});
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
               "a line for each task of an array, also those that wait",
               "ARRAY",
               client::kPlain,
               sets(o.by_task)});
  t.push_back(
      {"priority", 'P', Arg::kNone, {}, "highest priority first", "PRIORITY", client::kPlain, sets(o.by_priority)});
  for (Text name :
       {"hide", "noconvert", "local", "federation", "array-unique", "sibling", "only-job-state", "expand-patterns"})
    t.push_back({name, 0, Arg::kNone, {}, {}, {}, client::kHidden, sets(o.ignored)});
  t.push_back({"verbose",
               'v',
               Arg::kNone,
               {},
               "say more: the options in effect; -vv: each request, too",
               {},
               client::kPlain,
               sets(o.ignored)});
}

constexpr client::Unsupported kUnsupported[] = {{"yaml", 0, Arg::kOptional}};

client::CommandDoc doc() {
  client::CommandDoc d;
  d.summary = "list jobs and their steps";
  d.synopsis = "[OPTIONS]";
  d.description =
      "Lists jobs that have not ended. With --states=all also those that ended in the last minutes "
      "(jobs.min_job_age).\n\n"
      "The tasks of an array that wait alike are one line, 5_[6-99%20], where up to 20 run at once; --array gives each "
      "of them a line.\n\n"
      "On a terminal states have colours, and what does not fit its width at the end of a line is cut; into a file or "
      "a "
      "pipe, and with columns of one's choice, every line is whole.\n\n"
      "With --steps lists what runs in them: steps, batch scripts as JOB.batch, and allocations as JOB.extern. The "
      "other options choose their jobs; formats and orders of the environment are for jobs alone.\n\n"
      "The fields Quota and PreemptibleBy of -O say of a running job whether it is covered by what its QOS are "
      "guaranteed, "
      "or "
      "borrowed and at which of them, and the jobs of which QOS could take it now (docs/quotas.md, rule 8).";
  d.exit_codes = {{"0", "listed"},
                  {"1", "bad option, unknown job id, user, partition, QOS or node, or the controller is out of reach"}};
  d.environment = {{"GANGWAY_CONF", "configuration file"},
                   {"NO_COLOR", "no colours"},
                   {"SLURM_TIME_FORMAT", "%s: times as seconds since the epoch"}};
  d.examples = {{"gqueue --me", "my jobs"},
                {"gqueue -h -j 7 -o %T", "the state of job 7, alone"},
                {"gqueue -t R -O JobID,QOS,Quota:24,PreemptibleBy", "who could be preempted, and by whom"},
                {"gqueue -s --me", "my steps"}};
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
  if (states.empty() && o.is_steps) {
    add_states_with_steps(f);
    return {};
  }
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
  add_job_ids(o.steps, filter);
  return filter;
}

struct View {
  client::Format format;
  std::vector<client::SortKey> sort;
};

base::Result<View> make_step_view(const QueueOptions& o) {
  const auto names = client::field_names(client::step_fields());
  GW_TRY(format, make_format(o.listing, client::kStepFormat, names));
  if (o.listing.sort.empty()) return View{format, {}};
  GW_TRY(sort, client::parse_sort(o.listing.sort, names));
  return View{format, sort};
}

/// Slurm's name keeps Slurm's columns, which are wider than a terminal of 80.
Text standard_format(const QueueOptions& o, bool is_slurm) {
  if (o.start) return is_slurm ? client::kQueueStartFormat : client::kOwnQueueStartFormat;
  if (o.listing.is_long) return is_slurm ? client::kQueueLongFormat : client::kOwnQueueLongFormat;
  if (is_slurm) return client::kQueueFormat;
  constexpr size_t kWide = 110;
  return o.listing.look.columns >= kWide ? client::kWideQueueFormat : client::kOwnQueueFormat;
}

base::Result<View> make_view(const QueueOptions& o, bool is_slurm) {
  if (o.is_steps) return make_step_view(o);
  const auto names = client::field_names(client::job_fields());
  const Text standard = standard_format(o, is_slurm);
  GW_TRY(format, make_format(o.listing, standard, names));
  const Text order = !o.listing.sort.empty() ? Text(o.listing.sort)
                     : o.by_priority         ? Text("-p")
                     : o.start               ? Text("S")
                                             : client::kQueueSort;
  GW_TRY(sort, client::parse_sort(order, names));
  return View{format, sort};
}

/// Rows come by job id (and step).
template <typename Row>
std::string render(const QueueOptions& o, const View& view, const std::vector<client::Field<Row>>& fields,
                   std::vector<Row> rows, base::Time now) {
  client::sort_rows(rows, fields, view.sort);
  return render_listing(o.listing, view.format, fields, rows, now);
}

std::vector<JobRow> job_rows(const QueueOptions& o, const wire::ListJobsReply& reply, const client::JobLabels& labels,
                             bool is_slurm) {
  std::vector<JobRow> rows;
  for (const wire::Job& job : reply.jobs()) rows.push_back({&job, {reply.now_us()}, labels.of(job), {}, !is_slurm});
  if (!o.by_task) return client::merge_tasks(rows);
  std::map<uint32_t, model::TaskSet> only;
  const JobIds& ids = o.filters.ids;
  for (const auto& [array, text] : ids.tasks)
    if (const auto tasks = model::TaskSet::parse(text);
        tasks && std::find(ids.jobs.begin(), ids.jobs.end(), array) == ids.jobs.end())
      only[array] = *tasks;
  return client::split_tasks(rows, only);
}

/// Those that ask for one of the licences; all if none is named.
void keep_licensed(const std::vector<std::string>& names, wire::ListJobsReply& list) {
  if (names.empty()) return;
  auto& jobs = *list.mutable_jobs();
  const auto is_other = [&names](const wire::Job& job) {
    const auto asked = model::parse_licenses(job.spec().licenses());
    return !asked || std::none_of(names.begin(), names.end(), [&](const std::string& name) {
      return asked->contains(name.substr(0, name.find_first_of(":=")));
    });
  };
  jobs.erase(std::remove_if(jobs.begin(), jobs.end(), is_other), jobs.end());
}

int unknown_job(const Program& program, const wire::JobFilter& filter) {
  if (program.is_slurm) {  // clients look for this text
    client::print_note({"slurm_load_jobs error", true}, "Invalid job id specified");
    return client::kExitFailed;
  }
  return failed(program, {base::ErrorCode::kNotFound, "Invalid job id specified: " + name_of_only(filter),
                          "jobs that ended a while ago are gone from the queue"});
}

/// The exit code if the filter names what does not exist.
std::optional<int> refuse_unknown(const Program& program, client::Connection& connection, const wire::JobFilter& filter,
                                  const wire::ListJobsReply& list) {
  if (filter.ids_size() + filter.tasks_size() == 1 && list.unknown_ids_size() == 1) return unknown_job(program, filter);
  if (auto known = check_names(connection, filter, list.jobs()); !known) return failed(program, known.error());
  return std::nullopt;
}

/// The labels take a walk over all running jobs, which most listings need not.
bool shows_labels(const QueueOptions& o, const View& view, bool is_slurm) {
  if (o.listing.json) return !is_slurm;
  const auto is_label = [](size_t field) {
    const Text name = client::job_fields()[field].id.name;
    return name == "Quota" || name == "PreemptibleBy" || name == "TakenBy";
  };
  return std::any_of(view.format.columns.begin(), view.format.columns.end(),
                     [&](const client::Column& c) { return is_label(c.field); }) ||
         std::any_of(view.sort.begin(), view.sort.end(), [&](const client::SortKey& k) { return is_label(k.field); });
}

/// A record for each job as the controller has it: the waiting tasks of an array are one.
int show_slurm_json(const Program& program, const wire::ListJobsReply& list) {
  const auto config = client::load_config();
  if (!config) return failed(program, config.error());
  std::vector<JobRow> rows;
  for (const wire::Job& job : list.jobs()) rows.push_back({&job, {list.now_us()}, nullptr, {}});
  const bool done = client::slurm::jobs(rows, {list.now_us()}, {config->cluster, {"show", "jobs"}}, client::print_out);
  return done ? client::kExitOk : client::kExitFailed;
}

int show_jobs(const Program& program, client::Connection& connection, const QueueOptions& o, const View& view,
              const wire::JobFilter& filter) {
  wire::ApiRequest request;
  *request.mutable_list_jobs()->mutable_filter() = filter;
  request.mutable_list_jobs()->set_whole_ranges(o.by_task || o.listing.json ||
                                                std::getenv("SLURM_BITSTR_LEN") != nullptr);
  auto reply = connection.call(std::move(request));
  if (!reply) return failed(program, reply.error());
  wire::ListJobsReply& list = *reply->mutable_list_jobs();
  if (const auto code = refuse_unknown(program, connection, filter, list)) return *code;
  keep_licensed(o.licenses, list);
  client::JobLabels labels;
  if (wire::ApiRequest more;
      shows_labels(o, view, program.is_slurm) && client::ask_for_labels(list.jobs(), *more.mutable_show_shares())) {
    auto told = connection.call(std::move(more));
    if (!told) return failed(program, told.error());
    labels = client::JobLabels(std::move(*told->mutable_show_shares()));
  }
  note_hidden(program, sum_of(list.hidden()), "job of others", "jobs of others");
  if (o.listing.json && program.is_slurm) return show_slurm_json(program, list);
  return printed(o.listing.json ? client::jobs_json(list.jobs(), list.now_us(), labels)
                                : render(o, view, client::job_fields(), job_rows(o, list, labels, program.is_slurm),
                                         {list.now_us()}));
}

int show_steps(const Program& program, client::Connection& connection, const QueueOptions& o, const View& view,
               const wire::JobFilter& filter) {
  auto replies = ask_steps(connection, filter);
  if (!replies) return failed(program, replies.error());
  if (const auto code = refuse_unknown(program, connection, filter, replies->jobs)) return *code;
  keep_licensed(o.licenses, replies->jobs);
  const auto rows = step_rows(*replies, o.steps, o.filters.has_filter() || !o.licenses.empty());
  return printed(o.listing.json ? client::steps_json(rows, replies->now())
                                : render(o, view, client::step_fields(), rows, replies->now()));
}

/// The command line replaces what the environment says, rather than adding to it.
Status fill_from_environment(QueueOptions& o, client::OptionsInEffect& seen) {
  QueueOptions from_env;
  client::CommonFlags unused;
  client::OptionsInEffect weaker;
  auto rows = table(from_env, unused);
  weaker.watch(rows);
  GW_TRY_STATUS(client::read_environment(rows, doc().env_prefixes, [](const char* n) { return std::getenv(n); }));
  seen.fill(weaker);
  fill_filters(o.filters, from_env.filters);
  if (o.is_steps) return {};
  if (o.listing.sort.empty()) o.listing.sort = from_env.listing.sort;
  const ListingOptions& mine = o.listing;
  if (mine.format.empty() && mine.long_format.empty() && !mine.is_long && !o.start)
    o.listing.format = from_env.listing.format, o.listing.long_format = from_env.listing.long_format;
  return {};
}

/// Takes the operands that are lists of options, in their order.
Status take_lists(QueueOptions& o, std::vector<std::string>& operands) {
  for (char letter : o.follow) {
    if (operands.empty()) break;
    GW_TRY_STATUS(letter == 'j' ? parse_job_ids(operands.front(), o.filters.ids)
                                : parse_step_ids(operands.front(), o.steps));
    operands.erase(operands.begin());
  }
  if (o.is_steps && (o.start || o.by_priority))
    return base::invalid("--steps does not go with --start or --priority", "these are about jobs that wait");
  return {};
}

}  // namespace

int run_gqueue(const Program& called, Args args) {
  QueueOptions o;
  client::CommonFlags flags;
  client::OptionsInEffect seen;
  auto rows = table(o, flags);
  seen.watch(rows);
  Parsed parsed = parse_command(called, doc(), rows, flags, args, client::kExitUsage);
  if (parsed.exit) return *parsed.exit;
  if (auto done = fill_from_environment(o, seen); !done) return failed(called, done.error());
  const Program program = client::outspoken(called, seen, client::OptionFrame::kLists);
  if (auto done = take_lists(o, parsed.operands); !done) return failed(program, done.error());
  if (!parsed.operands.empty())
    return refuse_operand(program, parsed.operands.front(), "job ids go with -j, steps with -s");
  if (o.listing.wants_fields)
    return printed(o.is_steps ? field_list(client::field_names(client::step_fields()))
                              : field_list(client::field_names(client::job_fields())));
  o.listing.look = look_of(program, o.listing);
  auto view = make_view(o, program.is_slurm);
  if (!view) return failed(program, view.error());
  auto filter = make_filter(o);
  if (!filter) return failed(program, filter.error());
  auto connection = client::connect(program);
  if (!connection) return failed(program, connection.error());
  const auto show = o.is_steps ? show_steps : show_jobs;
  return show_repeatedly(o.listing.iterate_seconds, [&] {
    const int said = printed(cluster_line(o.listing));
    return said != client::kExitOk ? said : show(program, *connection, o, *view, *filter);
  });
}

}  // namespace gw::cmds
