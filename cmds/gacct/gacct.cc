// gacct (sacct): what jobs and steps did and used, those that have ended and those that have not.
#include <cstdlib>
#include <map>
#include <set>

#include "base/text.h"
#include "client/json/record_json.h"
#include "client/json/slurm_records.h"
#include "client/show/array_view.h"
#include "cmds/gacct/acct_options.h"
#include "cmds/gacct/efficiency.h"
#include "cmds/gacct/trace.h"
#include "cmds/shared/commands.h"
#include "cmds/shared/hidden_note.h"

namespace gw::cmds {
namespace {

using base::Status;
using client::Program;
using client::RecordKind;
using client::RecordRow;

client::CommandDoc doc() {
  client::CommandDoc d;
  d.summary = "show what jobs and their steps did and used";
  d.synopsis = "[OPTIONS]\n[OPTIONS] efficiency JOB_ID...\n[OPTIONS] trace";
  d.description =
      "Shows the records of jobs, whether they wait, run or have ended: a line for the job, JOB.batch for its script, "
      "JOB.extern for the allocation, JOB.0 and so on for its steps. A record is there as soon as a job has its id, "
      "and "
      "is never half filled. How long records are kept says retention.ended_jobs.\n\n"
      "Without -j, -N, -u and -a one sees one's own jobs, and root everybody's. Without -j, -s and -S it is those that "
      "had not ended before midnight.\n\n"
      "What was used is what the kernel said of each process as it ended: processor time, disk input and output, and "
      "the "
      "largest resident memory; of several processes of a task together what was seen, every 30 seconds and whenever "
      "gstat asked. It is there when the script or step is over.\n\n"
      "efficiency says of each job how much of its cores, memory and time it used. trace writes jobs that have run as "
      "a trace, which gangway simulate replays under another policy or on another cluster.";
  d.exit_codes = {{"0", "shown, also where nothing matches"},
                  {"1", "bad option, id, field, state or time, or the controller is out of reach"}};
  d.environment = {{"GANGWAY_CONF", "configuration file"},
                   {"SLURM_TIME_FORMAT", "%s: times as seconds since the epoch"}};
  d.examples = {{"gacct -j 7", "job 7 with its steps"},
                {"gacct -S 2027-01-01 -X -o JobID,State,Elapsed,AllocTRES", "my jobs of this year, one line each"},
                {"gacct -nP -j 7 -o State,MaxRSS", "for scripts"},
                {"gacct efficiency 7", "did it use what it asked for?"},
                {"gacct -a -S now-30days trace > month.csv", "a month of this cluster, to be replayed"}};
  d.env_prefixes = {"SACCT_", "GACCT_"};
  d.verbs = {{"efficiency JOB_ID...", "how much of its cores, memory and time each job used"},
             {"trace", "the jobs as a trace for gangway simulate"}};
  return d;
}

/// Of a job that was named by steps only these lines are shown.
std::vector<RecordRow> chosen(const RecordOptions& o, std::vector<RecordRow> rows) {
  const std::set<uint32_t> whole(o.ids.jobs.begin(), o.ids.jobs.end());
  std::set<std::string> steps;
  for (const StepId& step : o.ids.steps) steps.insert(step.text());
  std::vector<RecordRow> out;
  for (RecordRow& row : rows) {
    const bool is_named = steps.empty() || whole.contains(row.job->id()) ||
                          whole.contains(client::array_of(*row.job)) ||
                          (!o.ignores_components && whole.contains(row.job->spec().het_job())) ||
                          steps.contains(row.raw_id) || steps.contains(row.id);
    if (is_named && is_wanted(o, row)) out.push_back(std::move(row));
  }
  return out;
}

Status finish(RecordOptions& o) {
  if (o.format.empty()) o.format = client::kRecordFormat;
  if ((o.with_bars || o.with_bars_behind) && o.table.delimiter.empty()) o.table.delimiter = "|";
  if (!o.with_bars && !o.with_bars_behind) o.table.delimiter.clear();
  o.table.ends_with_it = o.with_bars_behind && !o.with_bars;
  return {};
}

int print_texts(const Program& program, client::Connection& connection, const RecordOptions& o) {
  for (const uint32_t job : o.ids.jobs) {
    wire::ApiRequest request;
    request.mutable_show_job()->set_id(job);
    request.mutable_show_job()->set_script(o.script);
    request.mutable_show_job()->set_environment(o.environment);
    auto reply = connection.call(std::move(request));
    if (!reply) return failed(program, reply.error());
    const std::string title = (o.script ? "Batch Script for " : "Environment used for ") + std::to_string(job);
    std::string text = o.script ? reply->show_job().script() : reply->show_job().environment();
    if (!o.script)
      for (char& c : text) c = c == '\0' ? '\n' : c;
    const int code = printed(title + "\n" + std::string(80, '-') + "\n" + text + (text.ends_with('\n') ? "" : "\n"));
    if (code != 0) return code;
  }
  return client::kExitOk;
}

base::Result<wire::ListRecordsReply> list(client::Connection& connection, wire::ListRecordsRequest request) {
  wire::ApiRequest asked;
  *asked.mutable_list_records() = std::move(request);
  GW_TRY(reply, connection.call(std::move(asked)));
  return std::move(*reply.mutable_list_records());
}

/// Who names a job of several components means all of them.
Status add_components(client::Connection& connection, const RecordOptions& o, const wire::ListRecordsRequest& asked,
                      wire::ListRecordsReply& found) {
  if (o.ids.jobs.empty() || o.ignores_components) return {};
  std::vector<uint32_t> ids;
  if (hides_named(asked.filter())) {
    wire::ListRecordsRequest named;
    *named.mutable_filter()->mutable_ids() = asked.filter().ids();
    named.set_jobs_alone(true);
    GW_TRY(leaders, list(connection, std::move(named)));
    ids = ids_of_components(o, leaders);
  } else {
    ids = ids_of_components(o, found);
  }
  if (ids.empty()) return {};
  wire::ListRecordsRequest request = asked;
  request.mutable_filter()->clear_tasks();
  request.mutable_filter()->mutable_ids()->Assign(ids.begin(), ids.end());
  GW_TRY(components, list(connection, std::move(request)));
  take_components(o, std::move(components), found);
  return {};
}

int show(const Program& program, const RecordOptions& o) {
  const auto fields = client::parse_record_format(o.format);
  if (!fields) return failed(program, fields.error());
  const base::Time now = base::SystemClock().now();
  auto request = records_request(o, now);
  if (!request) return failed(program, request.error());
  auto connection = client::connect(program);
  if (!connection) return failed(program, connection.error());
  if (o.script || o.environment) return print_texts(program, *connection, o);
  client::RecordStyle style;
  style.unit = o.unit;
  if (o.is_cut) {
    style.from = {request->filter().since_us()};
    style.to = {request->filter().until_us() > 0 ? request->filter().until_us() : now.us};
  }
  wire::ApiRequest asked;
  *asked.mutable_list_records() = std::move(*request);
  auto reply = connection->call(asked);
  if (!reply) return failed(program, reply.error());
  const Status whole = add_components(*connection, o, asked.list_records(), *reply->mutable_list_records());
  if (!whole) return failed(program, whole.error());
  note_hidden(program, sum_of(reply->list_records().hidden()), "job of others", "jobs of others");
  const client::Records records(std::move(*reply->mutable_list_records()));
  style.cluster = records.cluster();
  const auto rows = chosen(o, records.rows(o.jobs_alone, o.all_runs));
  if (o.json && program.is_slurm)
    return printed(client::slurm::records(rows, {records.cluster(), {"show", "accounting"}}));
  return printed(o.json ? client::records_json(rows, records) : client::record_text(rows, *fields, o.table, style));
}

/// seff's page: a job, and maybe the name of the cluster.
client::CommandDoc seff_doc() {
  client::CommandDoc d;
  d.summary = "show how much of its cores, memory, GPUs and time a job used";
  d.synopsis = "[OPTIONS] JOB_ID [CLUSTER]";
  d.description = "The same as gacct efficiency JOB_ID.";
  d.exit_codes = {{"0", "shown"}, {"1", "bad option, no such job, or the controller is out of reach"}};
  d.environment = {{"GANGWAY_CONF", "configuration file"}};
  d.examples = {{"seff 7", "did job 7 use what it asked for?"}};
  return d;
}

}  // namespace

int run_seff(const Program& called, Args args) {
  RecordOptions o;
  client::CommonFlags flags;
  std::vector<client::Option> table;
  table.push_back({"", 'd', client::Arg::kNone, {}, "say more", {}, client::kPlain, sets(o.ignored)});
  table.push_back({"", 'f', client::Arg::kNone, {}, {}, {}, client::kHidden, sets(o.ignored)});
  table.push_back(
      {"json", 0, client::Arg::kOptional, {}, "JSON with a schema_version", {}, client::kPlain, sets(o.json)});
  client::add_common_options(table, flags);
  const Parsed parsed = parse_command(called, seff_doc(), table, flags, args, client::kExitUsage);
  if (parsed.exit) return *parsed.exit;
  const client::Program program = louder(called, parsed);
  if (parsed.operands.empty()) return failed(program, {base::ErrorCode::kInvalid, "no job is named", "seff JOB_ID"});
  if (parsed.operands.size() > 2) return refuse_operand(program, parsed.operands[2], "seff JOB_ID [CLUSTER]");
  return show_efficiency(program, Args(parsed.operands).first(1), o);
}

int run_gacct(const Program& called, Args args) {
  RecordOptions o;
  client::CommonFlags flags;
  const auto table = record_options(o, flags);
  Parsed parsed = parse_command(called, doc(), table, flags, args, client::kExitUsage);
  if (parsed.exit) return *parsed.exit;
  const client::Program program = louder(called, parsed);
  if (o.help_format) return printed(client::record_field_names());
  if (!parsed.operands.empty() && parsed.operands.front() == "efficiency")
    return show_efficiency(program, Args(parsed.operands).subspan(1), o);
  if (!parsed.operands.empty() && parsed.operands.front() == "trace")
    return write_trace(program, Args(parsed.operands).subspan(1), o);
  if (!parsed.operands.empty()) return refuse_operand(program, parsed.operands.front(), "job ids go with -j");
  RecordOptions from_environment;
  client::CommonFlags unused;
  const Status read = client::read_environment(record_options(from_environment, unused), doc().env_prefixes,
                                               [](const char* name) { return std::getenv(name); });
  if (!read) return failed(program, read.error());
  if (o.format.empty()) o.format = from_environment.format;
  if (const Status done = finish(o); !done) return failed(program, done.error());
  return show(program, o);
}

}  // namespace gw::cmds
