// qdel of PBS Pro and Torque: ends jobs.
#include <unistd.h>

#include "base/text.h"
#include "cmds/pbs/change.h"
#include "cmds/pbs/commands.h"

namespace gw::cmds::pbs {
namespace {

using queue::Caller;

constexpr std::string_view kDelUsage = "qdel [-W force|DELAY] [-x] [-p] [-m MESSAGE] [-t TASKS] JOB_ID... | all";

struct DelOptions {
  bool is_forced = false;  ///< At once, by SIGKILL.
  std::string tasks;       ///< Of each array that is named.
};

base::Status take_del(const Caller& caller, DelOptions& o, char letter, const std::string& value) {
  if (letter == 'p' || (letter == 'W' && value == "force")) o.is_forced = true;
  if (letter == 't') o.tasks = value;
  if (letter == 'W' && value != "force" && !caller.is_torque() && value.find('=') == std::string::npos &&
      value.find_first_not_of("0123456789") != std::string::npos)
    return base::invalid("-W: \"" + base::printable(value, 40) + "\" is neither force nor a number of seconds");
  return {};
}

wire::ApiRequest cancel_request(const DelOptions& o, const JobIds& ids, bool is_all) {
  wire::ApiRequest request;
  wire::CancelRequest& cancel = *request.mutable_cancel();
  wire::JobFilter& filter = *cancel.mutable_filter();
  JobIds meant = ids;
  narrow(meant, o.tasks);
  meant.put(*filter.mutable_ids(), *filter.mutable_tasks());
  if (is_all) filter.add_uids(::geteuid());
  if (o.is_forced) cancel.set_signo(9);
  return request;
}

}  // namespace

int run_qdel(const Caller& caller, Args args) {
  if (const auto code = answer_common(caller, args, kDelUsage)) return *code;
  DelOptions o;
  auto words = read_letters(args, caller.is_torque() ? "pam:W:t:c" : "W:xm:", [&](char letter, const std::string& v) {
    return take_del(caller, o, letter, v);
  });
  if (!words) return refuse_usage(caller, words.error(), kDelUsage);
  if (words->empty()) return refuse_usage(caller, base::invalid("a job id is missing").value(), kDelUsage);
  auto config = client::load_config();
  if (!config) return refuse(caller, config.error());
  int code = client::kExitOk;
  const bool is_all = words->size() == 1 && base::iequals(words->front(), "all");
  const JobIds ids = is_all ? JobIds() : read_ids(caller, *words, config->cluster, code);
  if (!is_all && ids.empty()) return code;
  auto reply = ask(caller.program, cancel_request(o, ids, is_all));
  if (!reply) return refuse(caller, reply.error());
  const int faults = report(caller, reply->cancel().faults(), config->cluster);
  return faults != client::kExitOk ? faults : code;
}

}  // namespace gw::cmds::pbs
