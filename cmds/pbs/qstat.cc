// qstat of PBS Pro and Torque: jobs, queues and the server, as tables, as attributes, as XML and JSON.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "client/show/array_view.h"
#include "client/show/display.h"
#include "cmds/pbs/commands.h"
#include "cmds/pbs/job_record.h"
#include "cmds/pbs/queues.h"
#include "cmds/pbs/words.h"

namespace gw::cmds::pbs {
namespace {

using queue::Caller;
using queue::Doing;
using queue::Jobs;
using queue::Row;

constexpr std::string_view kStatUsage =
    "qstat [-f [-1|-w] [-F json|dsv] [-x]] [-t] [-anrisH] [-u USER,...] [-Q|-q|-B] [JOB_ID|QUEUE]...";

struct StatOptions {
  bool is_full = false, is_wide = false, by_task = false, with_ended = false, is_xml = false;
  bool is_alternate = false, with_nodes = false, with_comment = false, only_running = false, only_waiting = false;
  bool only_ended = false, one_line = false;
  bool shows_queues = false, shows_limits = false, shows_server = false;
  std::string form;  ///< "json", "dsv" or empty.
  std::vector<std::string> users;
};

base::Status take_stat(const Caller& caller, StatOptions& o, char letter, const std::string& value) {
  switch (letter) {
    case 'f':
      o.is_full = true;
      return {};
    case '1':
      o.one_line = o.is_wide = true;
      return {};
    case 'w':
      o.is_wide = true;
      return {};
    case 't':
    case 'J':
      o.by_task = o.by_task || letter == 't';
      return {};
    case 'x':
      (caller.is_torque() ? o.is_xml : o.with_ended) = true;
      return {};
    case 'F':
      if (value != "json" && value != "dsv" && value != "default")
        return base::invalid("-F: \"" + base::printable(value, 20) + "\" is none of json, dsv, default");
      o.form = value == "default" ? "" : value;
      return {};
    case 'D':
    case 'E':
    case 'p':
    case 'G':
    case 'M':
    case 'l':
      return {};
    case 'u':
      for (const std::string& user : base::split(value, ',')) o.users.push_back(user.substr(0, user.find('@')));
      o.is_alternate = true;
      return {};
    case 'Q':
      o.shows_queues = true;
      return {};
    case 'q':
      o.shows_limits = true;
      return {};
    case 'B':
      o.shows_server = true;
      return {};
    default:
      break;
  }
  o.is_alternate = true;
  if (letter == 'n') o.with_nodes = true;
  if (letter == 's') o.with_comment = true;
  if (letter == 'r') o.only_running = true;
  if (letter == 'i') o.only_waiting = true;
  if (letter == 'H') o.only_ended = o.with_ended = true;
  return {};
}

// ---- Which jobs

/// An operand that begins with a digit is a job; else a queue, with or without a server.
bool is_job(const std::string& word) { return !word.empty() && word[0] >= '0' && word[0] <= '9'; }

bool is_wanted(const Caller& caller, const StatOptions& o, const Row& row) {
  const bool has_ended = row.doing == Doing::kHasEnded;
  if (o.only_ended) return has_ended;
  if (has_ended && !caller.is_torque() && !o.with_ended) return false;
  const bool has_nodes = row.doing == Doing::kRuns || row.doing == Doing::kStarts || row.doing == Doing::kIsSuspended ||
                         row.doing == Doing::kLeaves;
  if (o.only_running) return has_nodes;
  if (o.only_waiting) return !has_nodes && !has_ended;
  return true;
}

// ---- Tables

std::string cut(const std::string& text, size_t width) {
  return std::string(client::cut_to_width(base::printable(text, 1000), width));
}

/// Processor time is not known before the end: the time that it has run is shown.
std::string time_use(const Row& row) {
  return client::start_of(*row.row.job) && !row.is_array ? clock_text(client::run_time(row.row)) : "0";
}

std::string job_head(const Caller& caller) {
  if (caller.is_torque())
    return "Job ID                    Name             User            Time Use S Queue\n"
           "------------------------- ---------------- --------------- -------- - -----\n";
  return "Job id            Name             User              Time Use S Queue\n"
         "----------------  ---------------- ----------------  -------- - -----\n";
}

std::string job_row(const Caller& caller, const Jobs& jobs, const Row& row) {
  const wire::Job& job = *row.row.job;
  const bool is_torque = caller.is_torque();
  return fmt::format("{:<{}} {:<16} {:<{}} {:>8} {} {:<5}\n", jobs.id_of(row), is_torque ? 25 : 17,
                     cut(job.spec().name(), is_torque ? 16 : 15), cut(job.spec().user(), is_torque ? 15 : 15),
                     is_torque ? 15 : 17, time_use(row), state_letter(row, caller.system), client::partition_of(job));
}

std::string short_clock(base::Duration length) {
  const int64_t minutes = std::max<int64_t>(0, length.seconds()) / 60;
  return fmt::format("{:02}:{:02}", minutes / 60, minutes % 60);
}

/// "500mb", "73gb"
std::string short_size(uint64_t mb) {
  return mb < 10 * 1024 ? fmt::format("{}mb", mb) : fmt::format("{}gb", mb / 1024);
}

std::string alternate_head(const std::string& server) {
  return fmt::format(
      "\n{}: \n"
      "                                                            Req'd  Req'd   Elap\n"
      "Job ID          Username Queue    Jobname    SessID NDS TSK Memory Time  S Time\n"
      "--------------- -------- -------- ---------- ------ --- --- ------ ----- - -----\n",
      server);
}

std::string alternate_row(const Caller& caller, const StatOptions& o, const Jobs& jobs, const Row& row) {
  const wire::Job& job = *row.row.job;
  const base::Duration limit = client::time_limit(job);
  const uint64_t mb = client::memory_mb(job);
  std::string line = fmt::format(
      "{:<15} {:<8} {:<8} {:<10} {:>6} {:>3} {:>3} {:>6} {:>5} {} {:>5}", jobs.id_of(row), cut(job.spec().user(), 8),
      cut(client::partition_of(job), 8), cut(job.spec().name(), 10), "--", client::node_count(job),
      client::cpu_count(job), mb == 0 ? "--" : short_size(mb),
      limit.us > 0 && limit != base::kUnlimited ? short_clock(limit) : "--", state_letter(row, caller.system),
      client::start_of(job) && !row.is_array ? short_clock(client::run_time(row.row)) : "--");
  const std::string gap = o.one_line ? " " : "\n   ";
  if (o.with_nodes) {
    const std::string hosts = row.is_array ? std::string() : exec_host(job, caller.system);
    line += gap + (hosts.empty() ? "--" : hosts);
  }
  if (o.with_comment) line += gap + base::printable(client::reason_detail(job), 1000);
  return line + "\n";
}

// ---- All of it

std::string dsv_line(const Record& record) {
  std::string line = "Job Id: " + record.name;
  for (const auto& [key, value] : record.attributes) {
    line += "|" + key + "=";
    for (const char c : base::printable(value, 100'000)) line += c == '|' ? "\\|" : std::string(1, c);
  }
  return line + "\n";
}

constexpr size_t kMostAsked = 16;

/// What PBS tells a job of its submission; of jobs of others nobody says it.
std::string variables_of(const Caller& caller, const wire::Job& job) {
  wire::ApiRequest request;
  request.mutable_show_job()->set_id(job.id());
  request.mutable_show_job()->set_environment(true);
  auto reply = ask(caller.program, std::move(request));
  if (!reply) return {};
  std::vector<std::string> variables;
  for (const std::string& line : base::split(reply->show_job().environment(), '\0'))
    if (line.starts_with("PBS_O_")) variables.push_back(line);
  return base::join(variables, ",");
}

std::string records_text(const Caller& caller, const StatOptions& o, const Jobs& jobs, const std::vector<Row>& rows) {
  std::vector<Record> records;
  // A question for each: not of a whole queue.
  const bool asks = rows.size() <= kMostAsked;
  for (const Row& row : rows)
    records.push_back(job_record(jobs, row, caller.system, asks ? variables_of(caller, *row.row.job) : std::string()));
  if (o.is_xml) return as_xml(records, "Job", "Job_Id");
  if (o.form == "json") return as_json(records, "Jobs", jobs.cluster(), jobs.now().seconds());
  std::string out;
  for (const Record& record : records)
    out += o.form == "dsv" ? dsv_line(record) : as_lines(record, {"Job Id: ", 4, o.is_wide});
  return out;
}

std::string job_listing(const Caller& caller, const StatOptions& o, const Jobs& jobs, const std::vector<Row>& rows) {
  if (o.is_full || o.is_xml || o.form == "json") return records_text(caller, o, jobs, rows);
  if (rows.empty()) return {};
  std::string out = o.is_alternate ? alternate_head(jobs.cluster()) : job_head(caller);
  for (const Row& row : rows) out += o.is_alternate ? alternate_row(caller, o, jobs, row) : job_row(caller, jobs, row);
  return out;
}

/// Of what was named, in its order, that of which all has ended: a task that was named, and arrays and jobs as a whole.
std::vector<std::string> ended_of(const Jobs& jobs, const JobIds& ids) {
  std::map<std::string, bool> lives;
  for (const Row& row : jobs.rows()) {
    const uint32_t number = client::array_of(*row.row.job);
    const bool is_task = !row.is_array && row.row.job->spec().has_array() && ids.tasks.contains(number);
    const std::string name =
        is_task || !row.row.job->spec().has_array() ? jobs.id_of(row) : queue::shown_task(number, "", jobs.cluster());
    bool& any = lives[name];
    any = any || row.doing != Doing::kHasEnded;
  }
  std::vector<std::string> ended;
  for (const auto& [name, any] : lives)
    if (!any && !ids.empty()) ended.push_back(name);
  return ended;
}

/// Says what of the ids is not there, or has ended; the code.
int say_missing(const Caller& caller, const StatOptions& o, const Jobs& jobs, const JobIds& ids) {
  int code = client::kExitOk;
  for (const uint32_t id : jobs.unknown()) code = refuse_unknown(caller, std::to_string(id) + "." + jobs.cluster());
  for (const auto& [array, tasks] : ids.tasks)
    if (std::none_of(jobs.rows().begin(), jobs.rows().end(), [array = array](const Row& row) {
          return row.row.job->spec().has_array() && client::array_of(*row.row.job) == array;
        }))
      code = refuse_unknown(caller, queue::shown_task(array, tasks, jobs.cluster()));
  if (caller.is_torque() || o.with_ended) return code;
  for (const std::string& id : ended_of(jobs, ids)) code = refuse_finished(caller, id);
  return code;
}

int show_jobs(const Caller& caller, const StatOptions& o, const std::vector<std::string>& operands) {
  auto config = client::load_config();
  if (!config) return refuse(caller, config.error());
  int code = client::kExitOk;
  queue::Asked asked;
  std::vector<std::string> ids;
  for (const std::string& word : operands) {
    if (word.empty())
      return refuse_usage(caller, base::invalid("the name of a job or queue is empty").value(), kStatUsage);
    if (is_job(word))
      ids.push_back(word);
    else if (const std::string name = word.substr(0, word.find('@')); !name.empty())
      asked.queues.push_back(name);
  }
  if (!asked.queues.empty()) {
    const auto known = check_queues(caller.program, asked.queues);
    if (!known) return refuse(caller, known.error());
  }
  asked.ids = read_ids(caller, ids, config->cluster, code);
  if (!ids.empty() && asked.ids.empty()) return code;
  asked.users = o.users;
  asked.only_living = !caller.is_torque() && !o.with_ended;
  asked.with_ended = o.with_ended;
  asked.arrays = o.by_task ? queue::ArrayRows::kEach : queue::ArrayRows::kOne;
  auto jobs = Jobs::find(caller.program, asked);
  if (!jobs) return refuse(caller, jobs.error());
  std::vector<Row> rows;
  for (const Row& row : jobs->rows())
    if (is_wanted(caller, o, row)) rows.push_back(row);
  const int written = printed(job_listing(caller, o, *jobs, rows));
  const int missing = say_missing(caller, o, *jobs, asked.ids);
  return written != client::kExitOk ? written : missing != client::kExitOk ? missing : code;
}

}  // namespace

int run_qstat(const Caller& caller, Args args) {
  if (const auto code = answer_common(caller, args, kStatUsage)) return *code;
  StatOptions o;
  const std::string_view letters = caller.is_torque() ? "f1tJxeu:QqBanirslRGM" : "f1wtJxF:D:EpGMu:QqBanirsTHl";
  auto operands = read_letters(
      args, letters, [&](char letter, const std::string& value) { return take_stat(caller, o, letter, value); });
  if (!operands) return refuse_usage(caller, operands.error(), kStatUsage);
  if (o.shows_server) return show_server(caller, o.is_full);
  if (o.shows_queues || o.shows_limits)
    return show_queues(caller, *operands,
                       o.shows_limits ? QueueForm::kLimits
                       : o.is_full    ? QueueForm::kFull
                                      : QueueForm::kTable);
  return show_jobs(caller, o, *operands);
}

}  // namespace gw::cmds::pbs
