// qstat of Grid Engine: the jobs of a user or of all, as a job_table, as XML, or one job in detail (-j).
#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <cstdio>

#include "base/bitset.h"
#include "base/text.h"
#include "client/show/array_view.h"
#include "cmds/queue/jobs.h"
#include "cmds/queue/text.h"
#include "cmds/sge/commands.h"
#include "cmds/sge/words.h"

namespace gw::cmds::sge {
namespace {

using queue::Caller;
using queue::Doing;
using queue::Jobs;
using queue::Row;

constexpr std::string_view kStatUsage =
    "qstat [-u USER|*] [-s p|r|s|z|h|a] [-q QUEUE] [-xml] [-j ID,...] [-g d] [-f] [-r] [-ext]";

struct StatOptions {
  queue::Asked asked;
  std::string states;               ///< "p", "r", "s", "z", "h"; empty: all that have not ended.
  std::string details;              ///< -j
  std::vector<std::string> queues;  ///< Patterns.
  bool is_xml = false;
  bool is_about_all = false;
};

base::Status take_stat(StatOptions& o, const std::string& name, const std::string& value) {
  if (name == "u") {
    for (const std::string& user : base::split(value, ','))
      user == "*" ? static_cast<void>(o.is_about_all = true) : o.asked.users.push_back(user);
  } else if (name == "s") {
    if (value.find_first_not_of("prszhaudojST") != std::string::npos)
      return base::invalid("-s: \"" + base::printable(value, 20) + "\" is none of p, r, s, z, h, a");
    o.states = value;
  } else if (name == "q") {
    for (const std::string& queue : base::split(value, ',')) o.queues.push_back(queue.substr(0, queue.find('@')));
  } else if (name == "j") {
    o.details = value;
  } else if (name == "xml") {
    o.is_xml = true;
  } else if (name == "g" && value == "d") {
    o.asked.arrays = queue::ArrayRows::kEach;
  }
  return {};
}

bool waits(const Row& row) {
  return row.doing == Doing::kWaits || row.doing == Doing::kWaitsForTime || row.doing == Doing::kIsHeld;
}

/// "qw", "hqw", "r", "t", "s", "dr"; "z" of jobs that have ended.
std::string state_of(const Row& row) {
  const std::string again = row.row.job->status().restarts() > 0 ? "R" : "";
  switch (row.doing) {
    case Doing::kIsHeld:
      return "h" + again + "qw";
    case Doing::kRuns:
      return again + "r";
    case Doing::kStarts:
      return again + "t";
    case Doing::kIsSuspended:
      return again + "s";
    case Doing::kLeaves:
      return "d" + again + "r";
    case Doing::kHasEnded:
      return "z";
    default:
      return again + "qw";
  }
}

bool is_in_queue(const StatOptions& o, const Row& row) {
  const std::string queue = client::partition_of(*row.row.job);
  return o.queues.empty() || std::any_of(o.queues.begin(), o.queues.end(), [&](const std::string& pattern) {
           return ::fnmatch(pattern.c_str(), queue.c_str(), 0) == 0;
         });
}

bool is_wanted(const StatOptions& o, const Row& row) {
  if (!is_in_queue(o, row)) return false;
  if (o.states.empty() || o.states == "a") return row.doing != Doing::kHasEnded;
  const auto asks = [&o](char letter) { return o.states.find(letter) != std::string::npos; };
  if (row.doing == Doing::kHasEnded) return asks('z');
  if (row.doing == Doing::kIsSuspended) return asks('s');
  if (row.doing == Doing::kIsHeld) return asks('h') || asks('p');
  return waits(row) ? asks('p') : asks('r');
}

base::Time time_of(const Row& row) {
  const base::Time start = client::start_of(*row.row.job);
  return waits(row) || !start ? base::Time{row.row.job->status().submitted_us()} : start;
}

uint32_t slots_of(const wire::Job& job) {
  return std::max(1U, client::task_count(job)) * std::max(1U, job.spec().request().cpus_per_task());
}

/// "main@n0"; empty while it waits.
std::string queue_of(const Row& row) {
  if (waits(row)) return {};
  return client::partition_of(*row.row.job) + "@" + client::first_node(*row.row.job);
}

/// Between 0 and 1: what the controller ranks it by is on a scale of its own.
double priority_of(const wire::Job& job) { return client::priority_of(job) == 0 ? 0.0 : 0.5; }

/// "3", or "1-9:2" of those that wait.
std::string tasks_of(const Row& row) {
  std::vector<std::string> parts = base::split(row.task.substr(0, row.task.find('%')), ',');
  for (std::string& part : parts)
    if (part.find('-') != std::string::npos && part.find(':') == std::string::npos) part += ":1";
  return base::join(parts, ",");
}

std::string table_row(const Row& row) {
  const wire::Job& job = *row.row.job;
  return fmt::format("{:>7} {:7.5f} {:<10.10} {:<12.12} {:<5.5} {} {:<30.30} {:>5} {}\n", client::array_of(job),
                     priority_of(job), base::printable(job.spec().name(), 100), job.spec().user(), state_of(row),
                     queue::local_time(time_of(row), "%m/%d/%Y %H:%M:%S"), queue_of(row), slots_of(job), tasks_of(row));
}

std::string job_table(const std::vector<Row>& rows) {
  if (rows.empty()) return {};
  std::string out =
      "job-ID  prior   name       user         state submit/start at     queue                          slots "
      "ja-task-ID \n" +
      std::string(113, '-') + "\n";
  for (const Row& row : rows) out += table_row(row);
  return out;
}

std::string xml_row(const Row& row) {
  const wire::Job& job = *row.row.job;
  const auto line = [](std::string_view name, const std::string& value) {
    return fmt::format("      <{0}>{1}</{0}>\n", name, queue::xml_text(value));
  };
  const bool is_waiting = waits(row);
  std::string out = fmt::format("    <job_list state=\"{}\">\n", is_waiting ? "pending" : "running");
  out += line("JB_job_number", std::to_string(client::array_of(job)));
  out += line("JAT_prio", fmt::format("{:.5f}", priority_of(job)));
  out += line("JB_name", base::printable(job.spec().name(), 1000));
  out += line("JB_owner", job.spec().user());
  out += line("state", state_of(row));
  out +=
      line(is_waiting ? "JB_submission_time" : "JAT_start_time", queue::local_time(time_of(row), "%Y-%m-%dT%H:%M:%S"));
  out += line("queue_name", queue_of(row));
  out += line("slots", std::to_string(slots_of(job)));
  if (const std::string tasks = tasks_of(row); !tasks.empty()) out += line("tasks", tasks);
  return out + "    </job_list>\n";
}

std::string xml(const std::vector<Row>& rows) {
  std::string running, pending;
  for (const Row& row : rows) (waits(row) ? pending : running) += xml_row(row);
  return "<?xml version='1.0'?>\n<job_info>\n  <queue_info>\n" + running + "  </queue_info>\n  <job_info>\n" + pending +
         "  </job_info>\n</job_info>\n";
}

// ---- -j

std::string detail(const Row& row) {
  const wire::Job& job = *row.row.job;
  const wire::JobSpec& s = job.spec();
  std::string out(62, '=');
  out += "\n";
  const auto line = [&out](std::string_view name, const std::string& value) {
    if (!value.empty()) out += fmt::format("{:<27} {}\n", std::string(name) + ":", base::printable(value, 4096));
  };
  line("job_number", std::to_string(client::array_of(job)));
  line("submission_time", queue::local_time({job.status().submitted_us()}, queue::kCalendarForm));
  line("owner", s.user());
  line("uid", std::to_string(s.uid()));
  line("group", s.group());
  line("gid", std::to_string(s.gid()));
  line("sge_o_host", s.submit_host());
  line("account", s.wckey().empty() ? "sge" : s.wckey());
  line("cwd", s.launch().work_dir());
  line("stderr_path_list", s.launch().std_err().empty() ? "" : "NONE:NONE:" + client::stderr_path(job));
  const base::Duration limit = client::time_limit(job);
  if (limit.us > 0 && limit != base::kUnlimited) line("hard resource_list", fmt::format("h_rt={}", limit.seconds()));
  line("merge", s.launch().std_err().empty() ? "y" : "");
  line("job_name", s.name());
  line("stdout_path_list", "NONE:NONE:" + client::stdout_path(job));
  line("project", s.account());
  line("hard_queue_list", client::partition_of(job));
  line("job_args", base::join(std::vector<std::string>(s.launch().args().begin(), s.launch().args().end()), ","));
  line("script_file", s.launch().command().empty() ? "STDIN" : std::string(s.launch().command()));
  if (slots_of(job) > 1) line("parallel environment", fmt::format("slots range: {}", slots_of(job)));
  if (s.has_array())
    line("job-array tasks", fmt::format("{}-{}:{}", s.array().least(), s.array().most(), s.array().step()));
  line("state", state_of(row));
  if (!client::shares_of(job).empty()) line("exec_host_list", client::node_list(job));
  line("scheduling info", client::reason_detail(job));
  return out;
}

int show_details(const Caller& caller, StatOptions& o) {
  int code = client::kExitOk;
  if (o.details != "*") {
    auto ids = find_ids(caller, {o.details}, "", code);
    if (!ids) return refuse(caller, ids.error());
    if (ids->empty()) return code;
    o.asked.ids = std::move(*ids);
  }
  o.asked.only_living = true;
  o.asked.arrays = queue::ArrayRows::kOne;
  auto jobs = Jobs::find(caller.program, o.asked);
  if (!jobs) return refuse(caller, jobs.error());
  std::string out;
  std::vector<std::string> missing;
  for (const Row& row : jobs->rows()) {
    if (row.doing == Doing::kHasEnded)
      missing.push_back(std::to_string(client::array_of(*row.row.job)));
    else
      out += detail(row);
  }
  for (const uint32_t id : jobs->unknown()) missing.push_back(std::to_string(id));
  const int written = printed(out);
  if (missing.empty()) return written;
  std::string text = "Following jobs do not exist or permissions are not sufficient: \n";
  for (const std::string& id : missing) text += id + "\n";
  std::fputs(text.c_str(), stderr);
  return client::kExitFailed;
}

}  // namespace

int run_qstat(const Caller& caller, Args args) {
  if (const auto code = answer_common(caller, args, kStatUsage)) return *code;
  static constexpr Word kWords[] = {{"u", true}, {"s", true}, {"q", true}, {"j", true},  {"xml"},          {"g", true},
                                    {"f"},       {"r"},       {"ext"},     {"pri"},      {"urg"},          {"t"},
                                    {"ne"},      {"F"},       {"l", true}, {"pe", true}, {"explain", true}};
  StatOptions o;
  o.asked.arrays = queue::ArrayRows::kStartedApart;
  auto operands = read_words(
      args, kWords, [&](const std::string& name, const std::string& value) { return take_stat(o, name, value); });
  if (!operands) return refuse_usage(caller, operands.error(), kStatUsage);
  if (!operands->empty())
    return refuse_usage(caller, base::invalid("Unknown option " + base::printable(operands->front(), 60)).value(),
                        kStatUsage);
  if (!o.details.empty()) return show_details(caller, o);
  if (o.asked.users.empty() && !o.is_about_all) o.asked.users.push_back(queue::own_user());
  if (o.is_about_all) o.asked.users.clear();
  o.asked.only_living = o.states.find('z') == std::string::npos;
  auto jobs = Jobs::find(caller.program, o.asked);
  if (!jobs) return refuse(caller, jobs.error());
  std::vector<Row> rows;
  for (const Row& row : jobs->rows())
    if (is_wanted(o, row)) rows.push_back(row);
  return printed(o.is_xml ? xml(rows) : job_table(rows));
}

}  // namespace gw::cmds::sge
