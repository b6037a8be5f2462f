// greport (sreport): how much of the cluster users, accounts, QOS and partitions had in a time.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "client/show/show_json.h"
#include "cmds/greport/lending_report.h"
#include "cmds/greport/report_options.h"
#include "cmds/greport/slurm_reports.h"
#include "cmds/shared/commands.h"
#include "cmds/shared/hidden_note.h"
#include "cmds/shared/value_table.h"

namespace gw::cmds {
namespace {

using client::Program;
using Json = nlohmann::ordered_json;

client::CommandDoc doc() {
  client::CommandDoc d;
  d.summary = "show how much of the cluster users, accounts and QOS had";
  d.synopsis =
      "[OPTIONS]\n[OPTIONS] lending [start=TIME] [end=TIME]\n[OPTIONS] cluster AccountUtilizationByUser "
      "[CONDITION...]\n"
      "[OPTIONS] cluster UserUtilizationByAccount [CONDITION...]\n"
      "[OPTIONS] user TopUsage [CONDITION...]";
  d.description =
      "Adds up what jobs had between two moments: processors, GPUs and memory, each times how long. Of a job that "
      "began "
      "before or goes on after it only what lies between counts, of one that was requeued every attempt; what it was "
      "suspended does not count.\n\n"
      "With --by a line for each user, account, QOS, partition, kind of GPU, day, month or final state, or for each "
      "combination of several. Of a GPU that jobs share each has its part.\n\n"
      "Of the attempts that began in that time: GPU_IDLE is how long their GPUs did nothing, as far as these were "
      "looked "
      "at; CPU_USED the processor time that scripts and steps used; MEAN_WAIT how long they had waited since they "
      "could "
      "have started.\n\n"
      "lending: of each QOS, with all below it, the GPU-hours that it was guaranteed, that its jobs held, that they "
      "borrowed (beyond its guarantee), that it lent (of its guarantee, to others beside it), that nobody used of its "
      "guarantee, and how long GPUs that its jobs held did nothing. Guarantees count as they are now, GPUs of all "
      "types together, and all jobs.\n\n"
      "The reports of sreport are there for programs that read them; their conditions are start=, end=, accounts=, "
      "users=, format=, topcount=, and without start= and end= they are of yesterday.";
  d.exit_codes = {{"0", "shown, also where nothing was used"},
                  {"1", "bad option, key, report or time, or the controller is out of reach"}};
  d.environment = {{"GANGWAY_CONF", "configuration file"}};
  d.examples = {{"greport --by=account,user", "who had how much this month"},
                {"greport --by=month,gpu -S 2027-01-01 -A physics --csv", "for a bill"},
                {"greport lending -S now-30days", "which QOS lived on what others did not use"},
                {"greport --by=state -S now-7days", "what went to jobs that failed"},
                {"greport cluster AccountUtilizationByUser start=2027-01-01 -t hours -P", "as sreport prints it"}};
  return d;
}

std::string column_name(wire::UseKey key) {
  std::string name(name_of(key));
  for (char& c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

ValueTable table_of(const wire::SumRecordsReply& sums, const ReportOptions& o) {
  const TimeUnit unit = o.unit.value_or(TimeUnit::kHours);
  const std::string behind = unit == TimeUnit::kHours ? "HOURS" : unit == TimeUnit::kMinutes ? "MINUTES" : "SECONDS";
  ValueTable table;
  for (const wire::UseKey key : o.by) table.columns.push_back({column_name(key)});
  for (const char* name : {"GPU_", "CPU_", "MEM_GIB_"}) table.columns.push_back({name + behind});
  for (const char* name : {"GPU_IDLE", "CPU_USED", "JOBS", "MEAN_WAIT"}) table.columns.push_back({name});
  const auto amount = [unit](double ms) { return fmt::format("{:.2f}", in_unit(ms, unit)); };
  for (const wire::UseSum& sum : sums.sums()) {
    std::vector<std::string>& row = table.rows.emplace_back();
    for (const std::string& key : sum.keys()) row.push_back(key.empty() ? "-" : key);
    row.push_back(amount(static_cast<double>(sum.gpu_ms())));
    row.push_back(amount(static_cast<double>(sum.cpu_ms())));
    row.push_back(amount(static_cast<double>(sum.mem_mb_s()) * 1e3 / 1024));
    row.push_back(amount(static_cast<double>(sum.idle_gpu_ms())));
    row.push_back(amount(static_cast<double>(sum.used_cpu_ms())));
    row.push_back(std::to_string(sum.jobs()));
    row.push_back(sum.started() == 0
                      ? "-"
                      : base::format_duration({static_cast<int64_t>(sum.waited_ms() / sum.started() * 1000)}));
  }
  return table;
}

std::string json_of(const wire::SumRecordsReply& sums, const ReportOptions& o, const Period& period) {
  Json out{{"schema_version", client::kSchemaVersion},
           {"cluster", sums.cluster()},
           {"start_us", period.since.us},
           {"end_us", period.until.us},
           {"sums", Json::array()}};
  for (const wire::UseSum& sum : sums.sums()) {
    Json one = Json::object();
    for (int i = 0; i < sum.keys_size() && static_cast<size_t>(i) < o.by.size(); ++i)
      one[std::string(name_of(o.by[static_cast<size_t>(i)]))] = sum.keys(i);
    one["jobs"] = sum.jobs();
    one["cpu_ms"] = sum.cpu_ms();
    one["gpu_ms"] = sum.gpu_ms();
    one["mem_mib_seconds"] = sum.mem_mb_s();
    one["used_cpu_ms"] = sum.used_cpu_ms();
    one["idle_gpu_ms"] = sum.idle_gpu_ms();
    one["attempts_started"] = sum.started();
    one["waited_ms"] = sum.waited_ms();
    out["sums"].push_back(std::move(one));
  }
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string text_of(const wire::SumRecordsReply& sums, const ReportOptions& o, const Period& period) {
  if (o.json) return json_of(sums, o, period);
  const ValueTable table = table_of(sums, o);
  if (o.csv) return csv_text(table);
  const bool with_bars = o.with_bars || o.with_bars_behind;
  return table_text(table, {o.no_header, with_bars ? "|" : "", o.with_bars_behind && !o.with_bars});
}

}  // namespace

int run_greport(const Program& called, Args args) {
  ReportOptions o;
  client::CommonFlags flags;
  const Parsed parsed = parse_command(called, doc(), report_options(o, flags), flags, args, client::kExitUsage);
  if (parsed.exit) return *parsed.exit;
  const client::Program program = louder(called, parsed);
  const base::Time now = base::SystemClock().now();
  if (!parsed.operands.empty() && base::iequals(parsed.operands.front(), "lending"))
    return report_lending(program, o, Args(parsed.operands).subspan(1), now);
  std::optional<SlurmReport> report;
  if (!parsed.operands.empty()) {
    auto named = SlurmReport::parse(parsed.operands, o);
    if (!named) return failed(program, named.error());
    report = *named;
  }
  const auto period = period_of(o, report ? day_before(now) : month_until(now), now);
  if (!period) return failed(program, period.error());
  wire::ApiRequest request;
  *request.mutable_sum_records() = sum_request(o, *period);
  const auto reply = ask(program, std::move(request));
  if (!reply) return failed(program, reply.error());
  const wire::SumRecordsReply& sums = reply->sum_records();
  note_hidden(program, sums.hidden(), "job of others", "jobs of others");
  if (!report || o.json) return printed(text_of(sums, o, *period));
  const auto text = report->text(sums, o, *period);
  return text ? printed(*text) : failed(program, text.error());
}

}  // namespace gw::cmds
