// qacct of Grid Engine: what became of jobs (-j).
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "client/show/array_view.h"
#include "cmds/queue/jobs.h"
#include "cmds/queue/text.h"
#include "cmds/sge/commands.h"
#include "cmds/sge/words.h"

namespace gw::cmds::sge {
namespace {

using queue::Caller;
using queue::Jobs;
using queue::Row;

constexpr std::string_view kAcctUsage = "qacct -j JOB_ID|NAME [-t TASKS] [-o USER]";

std::string calendar(base::Time time) { return queue::local_time(time, queue::kCalendarForm, "-/-"); }

/// Why Grid Engine would say that it ended otherwise than by itself; 0: it did not.
std::string failure_of(const wire::Job& job) {
  switch (client::state_of(job)) {
    case model::JobState::kTimeout:
      return "37  : qmaster enforced h_rt, h_cpu, or h_vmem limit";
    case model::JobState::kCancelled:
    case model::JobState::kPreempted:
    case model::JobState::kDeadline:
      return "100 : assumedly after job";
    case model::JobState::kNodeFail:
    case model::JobState::kBootFail:
      return "21  : in recognizing job";
    default:
      return "0";
  }
}

int exit_status(const wire::Outcome& o) { return o.exit_signo() != 0 ? 128 + o.exit_signo() : o.exit_code(); }

std::string record_of(const Row& row) {
  const wire::Job& job = *row.row.job;
  const wire::JobSpec& s = job.spec();
  const wire::Outcome& outcome = job.status().ended().outcome();
  std::string out = std::string(62, '=') + "\n";
  const auto line = [&out](std::string_view name, const std::string& value) {
    out += fmt::format("{:<12} {}\n", name, base::printable(value, 1000));
  };
  line("qname", client::partition_of(job));
  line("hostname", client::first_node(job));
  line("group", s.group());
  line("owner", s.user());
  line("project", s.account().empty() ? "NONE" : s.account());
  line("department", "defaultdepartment");
  line("jobname", s.name());
  line("jobnumber", std::to_string(client::array_of(job)));
  line("taskid", row.task.empty() ? "undefined" : row.task);
  line("account", s.wckey().empty() ? "sge" : s.wckey());
  line("priority", std::to_string(-s.nice()));
  line("qsub_time", calendar({job.status().submitted_us()}));
  line("start_time", calendar(client::start_of(job)));
  line("end_time", calendar(client::end_of(job)));
  line("granted_pe", "NONE");
  line("slots", std::to_string(std::max(1U, client::task_count(job)) * std::max(1U, s.request().cpus_per_task())));
  line("failed", failure_of(job));
  line("exit_status", std::to_string(exit_status(outcome)));
  line("ru_wallclock", fmt::format("{}s", client::run_time(row.row).seconds()));
  line("cpu", fmt::format("{:.3f}s", static_cast<double>(outcome.use().user_us() + outcome.use().system_us()) / 1e6));
  line("maxvmem", fmt::format("{}.000M", outcome.peak_mem_mb()));
  return out;
}

}  // namespace

int run_qacct(const Caller& caller, Args args) {
  if (const auto code = answer_common(caller, args, kAcctUsage)) return *code;
  static constexpr Word kWords[] = {{"j", true}, {"t", true}, {"o", true}};
  queue::Asked asked;
  std::string job, tasks;
  auto operands = read_words(args, kWords, [&](const std::string& name, const std::string& value) {
    if (name == "j") job = value;
    if (name == "t") tasks = value;
    if (name == "o") asked.users.push_back(value);
    return base::Status{};
  });
  if (!operands) return refuse_usage(caller, operands.error(), kAcctUsage);
  if (job.empty())
    return refuse_usage(caller, base::invalid("-j is missing", "sums are those of greport").value(), kAcctUsage);
  const bool is_number = job.find_first_not_of("0123456789.") == std::string::npos;
  if (!is_number) asked.names.push_back(job);
  if (is_number)
    if (auto read = queue::parse_sge_id(tasks.empty() ? job : job + "." + tasks, asked.ids); !read)
      return refuse(caller, read.error());
  asked.with_ended = true;
  asked.arrays = queue::ArrayRows::kEach;
  auto jobs = Jobs::find(caller.program, asked);
  if (!jobs) return refuse(caller, jobs.error());
  std::string out;
  for (const Row& row : jobs->rows())
    if (row.doing == queue::Doing::kHasEnded) out += record_of(row);
  if (!out.empty()) return printed(out);
  client::print_note({"error", false},
                     fmt::format("job {} {} not found", is_number ? "id" : "name", base::printable(job, 60)));
  return client::kExitFailed;
}

}  // namespace gw::cmds::sge
