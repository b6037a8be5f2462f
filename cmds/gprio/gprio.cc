// gprio (sprio): what the jobs before the scheduler are ranked by, in parts.
#include <algorithm>

#include "base/text.h"
#include "client/show/prio_fields.h"
#include "cmds/shared/commands.h"
#include "cmds/shared/hidden_note.h"
#include "cmds/shared/job_filter.h"
#include "cmds/shared/listing_options.h"

namespace gw::cmds {
namespace {

using base::Status;
using client::Arg;
using client::PriorityRow;
using client::Program;
using Text = std::string_view;

struct PrioOptions {
  JobFilters filters;
  ListingOptions listing;
  bool is_normalized = false, weights = false;
  bool ids_follow = false;
  bool ignored = false;
};

constexpr ListingWords kWords = {"columns by letter: \"%.15i %9r %.10Y\"", "columns by name: JobID:8,Priority,Age",
                                 "order by letters of fields, - reverses: -Y,i", ""};

std::vector<client::Option> table(PrioOptions& o, client::CommonFlags& flags) {
  std::vector<client::Option> t;
  t.reserve(48);
  t.push_back({"jobs", 'j', Arg::kOptional, "IDS", "these jobs: 5, 1,2, 5-9", {}, client::kPlain, [&o](Text v) {
                 o.ids_follow = v.empty();  // as with gqueue: `-j 7`
                 return v.empty() ? Status{} : parse_job_ids(v, o.filters.ids);
               }});
  t.push_back({"user",
               'u',
               Arg::kRequired,
               "USERS",
               "jobs of these users (names or numbers)",
               {},
               client::kPlain,
               lists(o.filters.users, "-u/--user")});
  t.push_back({"me", 0, Arg::kNone, {}, "my jobs", {}, client::kPlain, sets(o.filters.me)});
  t.push_back({"partition",
               'p',
               Arg::kRequired,
               "NAMES",
               "jobs in these partitions",
               {},
               client::kPlain,
               lists(o.filters.partitions, "-p/--partition")});
  t.push_back(
      {"norm", 'n', Arg::kNone, {}, "the bare factors, from 0 to 1", {}, client::kPlain, sets(o.is_normalized)});
  t.push_back({"weights", 'w', Arg::kNone, {}, "the weights, and no jobs", {}, client::kPlain, sets(o.weights)});
  add_listing_options(t, o.listing, kWords);
  t.push_back({"verbose", 'v', Arg::kNone, {}, "say more", {}, client::kPlain, sets(o.ignored)});
  for (Text name : {"local", "federation", "sibling"})
    t.push_back({name, 0, Arg::kNone, {}, {}, {}, client::kHidden, sets(o.ignored)});
  client::add_common_options(t, flags, 0);
  return t;
}

client::CommandDoc doc() {
  client::CommandDoc d;
  d.summary = "show what pending jobs are ranked by";
  d.synopsis = "[OPTIONS]";
  d.description =
      "Shows the priority of each job that waits for resources, and the parts that it is the sum of (scheduler.order: "
      "multifactor): age, fair share, size, partition, QOS, nice. Jobs that are held or wait for their begin time have "
      "none. A partition's tier (%G) and a priority that was submitted or set (%g) come before the sum; where the "
      "latter is given it is shown as the priority. Other orders have no parts. Letters of -o: %i job, %r partition, "
      "%u user, %o account, %Y priority, %A age, %F fair share, %J size, %P partition, %Q QOS, %N nice, %s the sum, "
      "%G tier, %g submitted priority; %y, %a, %f, %j, %p, %q: as fractions.";
  d.exit_codes = {{"0", "shown"},
                  {"1", "bad option, unknown job id, user or partition, or the controller is out of reach"}};
  d.environment = {{"GANGWAY_CONF", "configuration file"}};
  d.examples = {{"gprio -w", "the weights"}, {"gprio -n -j 7", "the factors of job 7"}};
  return d;
}

std::vector<PriorityRow> rows_of(const PrioOptions& o, const wire::ListPrioritiesReply& list, bool is_slurm) {
  std::vector<PriorityRow> rows;
  if (o.weights) return {{&list, nullptr}};
  for (const wire::JobPriority& job : list.jobs()) rows.push_back({&list, &job});
  std::sort(rows.begin(), rows.end(), [&](const PriorityRow& a, const PriorityRow& b) {
    return is_slurm ? a.job->id() < b.job->id() : client::is_served_before(*a.job, *b.job);
  });
  return rows;
}

base::Result<std::string> render(const Program& program, const PrioOptions& o, const wire::ListPrioritiesReply& list) {
  const auto& fields = client::priority_fields();
  const auto names = client::field_names(fields);
  GW_TRY(format,
         make_format(o.listing, client::priority_format(list, o.listing.is_long, o.is_normalized, o.weights), names));
  std::vector<PriorityRow> rows = rows_of(o, list, program.is_slurm);
  if (!o.listing.sort.empty()) {
    GW_TRY(keys, client::parse_sort(o.listing.sort, names));
    client::sort_rows(rows, fields, keys);
  }
  ListingOptions listing = o.listing;
  listing.is_long = false;  // no line with the date, as sprio has none
  return render_listing(listing, format, fields, rows, {list.now_us()});
}

/// Users and partitions without a job in line may still exist: what no listed job carries is asked for.
Status check_known(client::Connection& connection, const wire::JobFilter& filter,
                   const wire::ListPrioritiesReply& list) {
  google::protobuf::RepeatedPtrField<wire::Job> jobs;
  for (const wire::JobPriority& p : list.jobs()) {
    wire::Job& job = *jobs.Add();
    job.mutable_spec()->set_user(p.user());
    for (const std::string& name : base::split(p.partition(), ',')) job.mutable_spec()->add_partitions(name);
  }
  return check_names(connection, filter, jobs);
}

int show(const Program& program, client::Connection& connection, const PrioOptions& o, const wire::JobFilter& filter) {
  wire::ApiRequest request;
  *request.mutable_list_priorities()->mutable_filter() = filter;
  auto reply = connection.call(std::move(request));
  if (!reply) return failed(program, reply.error());
  const wire::ListPrioritiesReply& list = reply->list_priorities();
  if (o.filters.ids.size() == 1 && list.unknown_ids_size() == 1)
    return failed(program, {base::ErrorCode::kNotFound, "Invalid job id specified: " + name_of_only(filter), ""});
  if (auto known = check_known(connection, filter, list); !known) return failed(program, known.error());
  note_hidden(program, sum_of(list.hidden()), "job of others", "jobs of others");
  if (o.listing.json) return printed(client::priorities_json(list));
  if (list.names().empty())
    client::print_note(program, "the order " + base::printable(list.order()) + " puts no priority together from parts");
  auto text = render(program, o, list);
  return text ? printed(*text) : failed(program, text.error());
}

}  // namespace

int run_gprio(const Program& called, Args args) {
  PrioOptions o;
  client::CommonFlags flags;
  Parsed parsed = parse_command(called, doc(), table(o, flags), flags, args, client::kExitUsage);
  if (parsed.exit) return *parsed.exit;
  const client::Program program = louder(called, parsed);
  if (o.ids_follow && !parsed.operands.empty()) {
    if (auto done = parse_job_ids(parsed.operands.front(), o.filters.ids); !done) return failed(program, done.error());
    parsed.operands.erase(parsed.operands.begin());
  }
  if (!parsed.operands.empty()) return refuse_operand(program, parsed.operands.front(), "job ids go with -j");
  if (o.listing.wants_fields) return printed(field_list(client::field_names(client::priority_fields())));
  auto filter = to_filter(o.filters);
  if (!filter) return failed(program, filter.error());
  auto connection = client::connect(program);
  if (!connection) return failed(program, connection.error());
  return show_repeatedly(o.listing.iterate_seconds, [&] {
    const int said = printed(cluster_line(o.listing));
    return said != client::kExitOk ? said : show(program, *connection, o, *filter);
  });
}

}  // namespace gw::cmds
