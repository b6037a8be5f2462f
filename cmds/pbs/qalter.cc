// qalter of PBS Pro and Torque: what qsub said, said anew.
#include "base/text.h"
#include "cmds/gcontrol/control_verbs.h"
#include "cmds/pbs/change.h"
#include "cmds/pbs/commands.h"
#include "cmds/queue/alter.h"

namespace gw::cmds::pbs {
namespace {

using queue::Caller;

constexpr std::string_view kAlterUsage = "qalter [OPTIONS of qsub] [-h u|o|s|n] JOB_ID...";

/// Takes -h and its value out; the hold, or nothing. What looks so behind another option is its value.
std::string take_hold(std::vector<std::string>& words, client::PbsKind kind) {
  std::string hold;
  std::vector<std::string> others;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const bool has_value_apart = word.size() > 1 && word[0] == '-' && client::count_pbs_options({word, "x"}, kind) == 2;
    if (word.starts_with("-h")) {
      hold = word.size() > 2 ? word.substr(2) : i + 1 < words.size() ? words[++i] : "";
      continue;
    }
    others.push_back(word);
    if (has_value_apart && i + 1 < words.size()) others.push_back(words[++i]);
  }
  words = std::move(others);
  return hold;
}

/// Takes what -t of Torque became out of the options.
std::string take_tasks(std::vector<std::string>& options) {
  std::string tasks;
  constexpr std::string_view kArray = "--array=";
  for (const std::string& word : options)
    if (word.starts_with(kArray)) tasks = word.substr(kArray.size());
  std::erase_if(options, [&](const std::string& word) { return word.starts_with(kArray); });
  return tasks;
}

struct Alteration {
  std::vector<std::string> settings, operands;
  std::string hold, tasks;
};

base::Result<Alteration> read_alteration(const Caller& caller, Args args) {
  Alteration a;
  std::vector<std::string> words(args.begin(), args.end());
  a.hold = take_hold(words, queue::pbs_kind(caller.system));
  if (a.hold.find_first_not_of("uosn") != std::string::npos)
    return base::invalid("illegal -h value \"" + base::printable(a.hold, 20) + "\"", "u, o, s or n");
  const size_t count = client::count_pbs_options(words, queue::pbs_kind(caller.system));
  GW_TRY(options, client::translate_pbs({words.begin(), words.begin() + static_cast<std::ptrdiff_t>(count)},
                                        {queue::pbs_kind(caller.system), true, false}));
  a.operands.assign(words.begin() + static_cast<std::ptrdiff_t>(count), words.end());
  if (caller.is_torque()) a.tasks = take_tasks(options);
  std::vector<std::string> left_out;
  GW_TRY(settings, queue::settings_of(options, left_out));
  a.settings = std::move(settings);
  if (!left_out.empty())
    queue::say(caller, "warning: left out: " + base::join(left_out, ", ") + " (nothing changes them)", 0);
  return a;
}

wire::ApiRequest hold_request(const JobIds& ids, const std::string& hold) {
  wire::ApiRequest request;
  wire::JobActionRequest& asked = *request.mutable_job_action();
  ids.put(*asked.mutable_ids(), *asked.mutable_tasks());
  asked.set_action(hold == "n" ? wire::kRelease : hold == "u" ? wire::kUserHold : wire::kHold);
  return request;
}

}  // namespace

int run_qalter(const Caller& caller, Args args) {
  if (const auto code = answer_common(caller, args, kAlterUsage)) return *code;
  auto a = read_alteration(caller, args);
  if (!a) return refuse_usage(caller, a.error(), kAlterUsage);
  if (a->operands.empty()) return refuse_usage(caller, base::invalid("a job id is missing").value(), kAlterUsage);
  auto config = client::load_config();
  if (!config) return refuse(caller, config.error());
  int code = client::kExitOk;
  JobIds ids = read_ids(caller, a->operands, config->cluster, code);
  narrow(ids, a->tasks);
  if (ids.empty()) return code;
  std::vector<wire::ApiRequest> requests;
  if (!a->settings.empty()) {
    a->settings.emplace_back("JobId=1");  // those that are meant are filled in below
    auto request = update_request(a->settings, base::SystemClock().now());
    if (!request) return refuse_usage(caller, request.error(), kAlterUsage);
    wire::UpdateJobRequest& update = *request->mutable_update_job();
    ids.put(*update.mutable_ids(), *update.mutable_tasks());
    requests.push_back(std::move(*request));
  }
  // Last: a job that is released may begin, and be over, at once.
  if (!a->hold.empty()) requests.push_back(hold_request(ids, a->hold));
  for (wire::ApiRequest& request : requests) {
    auto reply = ask(caller.program, std::move(request));
    if (!reply) return refuse(caller, reply.error());
    const int faults = report(caller, reply->jobs().faults(), config->cluster);
    if (faults != client::kExitOk) code = faults;
  }
  return code;
}

}  // namespace gw::cmds::pbs
