// qdel, qhold, qrls, qalter and qselect of Grid Engine.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <map>

#include "base/text.h"
#include "client/options/sge.h"
#include "client/show/array_view.h"
#include "client/show/job_view.h"
#include "cmds/gcontrol/control_verbs.h"
#include "cmds/queue/alter.h"
#include "cmds/queue/text.h"
#include "cmds/sge/commands.h"
#include "cmds/sge/words.h"

namespace gw::cmds::sge {
namespace {

using queue::Caller;
using Words = std::vector<std::string>;

constexpr std::string_view kDelUsage = "qdel [-f] [-u USER,...] [-t TASKS] JOB_ID|NAME...";
constexpr std::string_view kHoldUsage = "qhold|qrls [-h u|o|s] [-u USER,...] [-t TASKS] JOB_ID|NAME...";
constexpr std::string_view kAlterUsage = "qalter [OPTIONS of qsub] JOB_ID...";
constexpr std::string_view kSelectUsage = "qselect [-q QUEUE,...]";

struct ChangeOptions {
  bool is_forced = false;
  std::string tasks, holds = "u";
  Words users;
};

base::Status take_change(ChangeOptions& o, const std::string& name, const std::string& value) {
  if (name == "f") o.is_forced = true;
  if (name == "t") o.tasks = value;
  if (name == "h") o.holds = value;
  if (name == "u")
    for (const std::string& user : base::split(value, ',')) o.users.push_back(user);
  if (name == "h" && (value.empty() || value.find_first_not_of("uosn") != std::string::npos))
    return base::invalid("-h: \"" + base::printable(value, 20) + "\" is none of u, o, s, n");
  return {};
}

/// What is said of each job that the filter finds: one that waits is gone at once, another is told to end.
std::map<uint32_t, std::string> deleted_lines(const wire::JobFilter& filter, client::Connection& connection) {
  std::map<uint32_t, std::string> lines;
  wire::ApiRequest request;
  *request.mutable_list_jobs()->mutable_filter() = filter;
  auto reply = connection.call(std::move(request));
  if (!reply) return lines;
  for (const wire::Job& job : reply->list_jobs().jobs()) {
    const bool waits = client::state_of(job) == model::JobState::kPending;
    const std::string id = std::to_string(client::array_of(job)) +
                           (job.spec().array().has_task() ? "." + std::to_string(job.spec().array().task()) : "");
    lines[job.id()] = waits ? fmt::format("{} has deleted job {}\n", queue::own_user(), id)
                            : fmt::format("{} has registered the job {} for deletion\n", queue::own_user(), id);
  }
  return lines;
}

/// n and capital letters take holds off; u is the user's own, o and s an administrator's.
wire::JobAction action_of(const std::string& holds) {
  if (holds.find_first_of("nUOS") != std::string::npos) return wire::kRelease;
  return holds == "u" ? wire::kUserHold : wire::kHold;
}

std::string names_of(const JobIds& ids) {
  Words names;
  for (const uint32_t id : ids.jobs) names.push_back(std::to_string(id));
  for (const auto& [array, tasks] : ids.tasks) names.push_back(fmt::format("{}.{}", array, tasks));
  return base::join(names, ", ");
}

/// Takes -h and its list out.
std::string take_hold_list(Words& words) {
  const auto at = std::find(words.begin(), words.end(), "-h");
  if (at == words.end() || at + 1 == words.end()) return {};
  const std::string hold = *(at + 1);
  words.erase(at, at + 2);
  return hold;
}

int set_hold(const Caller& caller, const JobIds& ids, const std::string& hold) {
  wire::ApiRequest request;
  wire::JobActionRequest& asked = *request.mutable_job_action();
  ids.put(*asked.mutable_ids(), *asked.mutable_tasks());
  asked.set_action(action_of(hold));
  auto reply = ask(caller.program, std::move(request));
  if (!reply) return refuse(caller, reply.error());
  if (const int faults = report(caller, reply->jobs().faults()); faults != client::kExitOk) return faults;
  return printed("modified hold of job " + names_of(ids) + "\n");
}

}  // namespace

int run_qdel(const Caller& caller, Args args) {
  if (const auto code = answer_common(caller, args, kDelUsage)) return *code;
  static constexpr Word kWords[] = {{"f"}, {"t", true}, {"u", true}};
  ChangeOptions o;
  auto words = read_words(
      args, kWords, [&](const std::string& name, const std::string& value) { return take_change(o, name, value); });
  if (!words) return refuse_usage(caller, words.error(), kDelUsage);
  if (words->empty() && o.users.empty())
    return refuse_usage(caller, base::invalid("a job is missing").value(), kDelUsage);
  int code = client::kExitOk;
  auto ids = find_ids(caller, *words, o.tasks, code);
  if (!ids) return refuse(caller, ids.error());
  if (ids->empty() && o.users.empty()) return code;
  wire::ApiRequest request;
  wire::JobFilter& filter = *request.mutable_cancel()->mutable_filter();
  ids->put(*filter.mutable_ids(), *filter.mutable_tasks());
  const bool is_about_all = std::find(o.users.begin(), o.users.end(), "*") != o.users.end();
  for (const std::string& user : o.users)
    if (!is_about_all) filter.add_users(user);
  if (is_about_all && ids->empty())
    for (const auto state : {model::JobState::kPending, model::JobState::kConfiguring, model::JobState::kRunning,
                             model::JobState::kSuspended})
      filter.add_states(static_cast<uint32_t>(state));
  if (o.is_forced) request.mutable_cancel()->set_signo(9);
  auto connection = client::connect(caller.program);
  if (!connection) return refuse(caller, connection.error());
  const auto lines = deleted_lines(filter, *connection);
  auto reply = connection->call(std::move(request));
  if (!reply) return refuse(caller, reply.error());
  for (const uint32_t id : reply->cancel().done())
    if (const auto line = lines.find(id); line != lines.end()) printed(line->second);
  if (reply->cancel().done().empty() && reply->cancel().faults().empty())
    std::fputs("no jobs are there to delete\n", stderr);
  const int faults = report(caller, reply->cancel().faults());
  return faults != client::kExitOk ? faults : code;
}

int run_qhold(const Caller& caller, Args args) {
  if (const auto code = answer_common(caller, args, kHoldUsage)) return *code;
  static constexpr Word kWords[] = {{"h", true}, {"t", true}};
  ChangeOptions o;
  auto words = read_words(
      args, kWords, [&](const std::string& name, const std::string& value) { return take_change(o, name, value); });
  if (!words) return refuse_usage(caller, words.error(), kHoldUsage);
  if (words->empty()) return refuse_usage(caller, base::invalid("a job is missing").value(), kHoldUsage);
  int code = client::kExitOk;
  auto ids = find_ids(caller, *words, o.tasks, code);
  if (!ids) return refuse(caller, ids.error());
  if (ids->empty()) return code;
  wire::ApiRequest request;
  wire::JobActionRequest& asked = *request.mutable_job_action();
  ids->put(*asked.mutable_ids(), *asked.mutable_tasks());
  asked.set_action(caller.program.name == "qrls" ? wire::kRelease : action_of(o.holds));
  auto reply = ask(caller.program, std::move(request));
  if (!reply) return refuse(caller, reply.error());
  if (const int faults = report(caller, reply->jobs().faults()); faults != client::kExitOk) return faults;
  const int written = printed("modified hold of job " + names_of(*ids) + "\n");
  return written != client::kExitOk ? written : code;
}

int run_qalter(const Caller& caller, Args args) {
  if (const auto code = answer_common(caller, args, kAlterUsage)) return *code;
  Words words(args.begin(), args.end());
  const std::string hold = take_hold_list(words);
  if (hold.find_first_not_of("uosnUOS") != std::string::npos)
    return refuse_usage(caller, base::invalid("-h: " + base::printable(hold, 20) + " is none of u, o, s, n").value(),
                        kAlterUsage);
  auto count = client::count_sge_options(words);
  if (!count) return refuse_usage(caller, count.error(), kAlterUsage);
  const auto end = words.begin() + static_cast<std::ptrdiff_t>(*count);
  auto options = client::translate_sge({words.begin(), end});
  if (!options) return refuse_usage(caller, options.error(), kAlterUsage);
  std::vector<std::string> left_out;
  auto settings = queue::settings_of(*options, left_out);
  if (!settings) return refuse_usage(caller, settings.error(), kAlterUsage);
  if (end == words.end()) return refuse_usage(caller, base::invalid("a job is missing").value(), kAlterUsage);
  if (!left_out.empty())
    client::print_note({"warning", false}, "left out: " + base::join(left_out, ", ") + " (nothing changes them)");
  int code = client::kExitOk;
  auto ids = find_ids(caller, {end, words.end()}, "", code);
  if (!ids) return refuse(caller, ids.error());
  if (ids->empty()) return code;
  if (settings->empty()) return hold.empty() ? code : set_hold(caller, *ids, hold);
  settings->emplace_back("JobId=1");  // those that are meant are filled in below
  auto request = update_request(*settings, base::SystemClock().now());
  if (!request) return refuse_usage(caller, request.error(), kAlterUsage);
  wire::UpdateJobRequest& update = *request->mutable_update_job();
  ids->put(*update.mutable_ids(), *update.mutable_tasks());
  auto reply = ask(caller.program, std::move(*request));
  if (!reply) return refuse(caller, reply.error());
  if (const int faults = report(caller, reply->jobs().faults()); faults != client::kExitOk) return faults;
  if (const int written = printed("modified job " + names_of(*ids) + "\n"); written != client::kExitOk) return written;
  return hold.empty() ? code : set_hold(caller, *ids, hold);
}

int run_qselect(const Caller& caller, Args args) {
  if (const auto code = answer_common(caller, args, kSelectUsage)) return *code;
  static constexpr Word kWords[] = {{"q", true}, {"l", true}, {"U", true}, {"pe", true}, {"s", true}};
  Words queues;
  auto operands = read_words(args, kWords, [&](const std::string& name, const std::string& value) {
    if (name == "q")
      for (const std::string& one : base::split(value, ',')) queues.push_back(one.substr(0, one.find('@')));
    return base::Status{};
  });
  if (!operands) return refuse_usage(caller, operands.error(), kSelectUsage);
  wire::ApiRequest request;
  request.mutable_list_partitions();
  auto reply = ask(caller.program, std::move(request));
  if (!reply) return refuse(caller, reply.error());
  std::string out;
  for (const wire::Partition& p : reply->list_partitions().partitions()) {
    if (!queues.empty() && std::find(queues.begin(), queues.end(), p.name()) == queues.end()) continue;
    for (const std::string& node : p.nodes()) out += p.name() + "@" + node + "\n";
  }
  if (out.empty()) return refuse(caller, base::invalid("no queue instances match").value());
  return printed(out);
}

}  // namespace gw::cmds::sge
