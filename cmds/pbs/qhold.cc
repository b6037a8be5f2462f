// qhold and qrls of PBS Pro and Torque.
#include "base/text.h"
#include "cmds/pbs/change.h"
#include "cmds/pbs/commands.h"

namespace gw::cmds::pbs {
namespace {

using queue::Caller;

/// u: the user's own, which the user takes off; o, s: an administrator's.
base::Result<wire::JobAction> action_of(bool is_release, const std::string& holds) {
  if (holds.empty() || holds.find_first_not_of("uosnp") != std::string::npos)
    return base::invalid("illegal -h value \"" + base::printable(holds, 20) + "\"", "u, o or s");
  if (is_release) return holds == "n" ? wire::kNoAction : wire::kRelease;
  return holds == "n" ? wire::kRelease : holds == "u" ? wire::kUserHold : wire::kHold;
}

}  // namespace

int run_qhold(const Caller& caller, Args args) {
  const bool is_release = caller.program.name == "qrls";
  const std::string usage = caller.program.name + " [-h u|o|s] JOB_ID...";
  if (const auto code = answer_common(caller, args, usage)) return *code;
  std::string holds = "u", tasks;
  auto words = read_letters(args, "h:t:", [&](char letter, const std::string& value) {
    (letter == 'h' ? holds : tasks) = value;
    return base::Status{};
  });
  if (!words) return refuse_usage(caller, words.error(), usage);
  auto action = action_of(is_release, holds);
  if (!action) return refuse_usage(caller, action.error(), usage);
  if (words->empty()) return refuse_usage(caller, base::invalid("a job id is missing").value(), usage);
  auto config = client::load_config();
  if (!config) return refuse(caller, config.error());
  int code = client::kExitOk;
  JobIds ids = read_ids(caller, *words, config->cluster, code);
  narrow(ids, tasks);
  if (ids.empty() || *action == wire::kNoAction) return code;
  wire::ApiRequest request;
  wire::JobActionRequest& asked = *request.mutable_job_action();
  ids.put(*asked.mutable_ids(), *asked.mutable_tasks());
  asked.set_action(*action);
  auto reply = ask(caller.program, std::move(request));
  if (!reply) return refuse(caller, reply.error());
  const int faults = report(caller, reply->jobs().faults(), config->cluster);
  return faults != client::kExitOk ? faults : code;
}

}  // namespace gw::cmds::pbs
