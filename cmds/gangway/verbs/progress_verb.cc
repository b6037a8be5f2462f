// gangway progress [--step N] [--of N] [--rate X] [--read [--pattern RE]] [JOBID].
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "base/text.h"
#include "client/conn/connection.h"
#include "cmds/gangway/shared/ask_controller.h"
#include "cmds/gangway/shared/verbs.h"
#include "cmds/gangway/verbs/progress_pipe.h"
#include "cmds/gangway/verbs/progress_words.h"
#include "cmds/gangway/verbs/quota_words.h"

namespace gw::cmds {
namespace {

const client::CommandDoc kDoc = {
    "tell how far a job has come",
    "[OPTIONS] [JOBID]",
    "For jobs to call now and then while they run: how many steps they have done, of how many, and how fast they are. "
    "Without --rate the controller works the rate out of the steps told. From both follows when the job ends, which "
    "`gcontrol show job` shows and orders by durations go by in place of the time limit. A job that runs for a quarter "
    "and five minutes longer than it told is from then on ranked as one that told nothing. One report in a second is "
    "kept.\n\nWith --read it stands in a pipe: what it reads it writes on as it is, and tells of each line that says "
    "how many "
    "steps are done (\"step 1200/10000\", \"iteration 7 of 90\"), every ten seconds at most. It ends when its input "
    "does, with "
    "exit code 0 even if nobody could be told, and not at a signal that the program handles. A failure of the program "
    "is that of the pipe only under `set -o pipefail`.\n\nWithout JOBID the job that this runs in is meant.",
    {{"0", "the controller knows; with --read: all was read and written"},
     {"1", "bad words, no such job, not yours, outside a job, not running, or no answer"}},
    {{"GANGWAY_JOB_ID", "the job, without JOBID"},
     {"SLURM_JOB_ID", "the same, where that is not set"},
     {"GANGWAY_CONF", "path of the configuration"}},
    {{"set -o pipefail", "in a script of bash, before such a pipe: the job fails if the program does"},
     {"gangway progress --step 1200 --of 10000", "in a job, after its 1200th step"},
     {"python train.py | gangway progress --read", "in a job: what the program prints says it"},
     {"gangway progress --rate 3.2", "so many steps a second, measured by the job itself"}},
    {},
};

/// Every so long at most.
constexpr base::Duration kBetweenReports = base::seconds(10);
/// For an answer: no job is to wait at its end for a controller that is away, and the next report says more.
constexpr base::Duration kPatience = base::milliseconds(900);

/// What tells a job to save its work, to go, or of anything else, goes to all of its processes. This one lives as long
/// as the program whose lines it writes on, or that would die of a closed pipe while it saves.
void outlive_signals() {
  for (const int signo : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF, SIGIO,
                          SIGXCPU, SIGPWR, SIGPIPE})
    std::signal(signo, SIG_IGN);
  for (int signo = SIGRTMIN; signo <= SIGRTMAX; ++signo) std::signal(signo, SIG_IGN);
}

/// Somebody who cannot be told is said once: it must not fill the job's output.
int read_along(const Invocation& call, const std::string& pattern, uint32_t job) {
  auto lines = ProgressLines::make(pattern);
  if (!lines) return failed(call.program, lines.error());
  const auto config = client::load_config();
  if (!config) return failed(call.program, config.error());
  outlive_signals();
  client::Connection connection = client::open_connection(call.program, *config, kPatience);
  bool has_complained = false;
  const auto tell = [&](const wire::ProgressRequest& said) {
    wire::ApiRequest request;
    *request.mutable_progress() = said;
    request.mutable_progress()->set_job_id(job);
    const auto reply = connection.call(request);
    if (!reply && !std::exchange(has_complained, true)) client::print_error(call.program, reply.error());
  };
  const auto read = read_through(STDIN_FILENO, STDOUT_FILENO, std::move(*lines), kBetweenReports, tell);
  return read ? client::kExitOk : failed(call.program, read.error());
}

}  // namespace

int progress_verb(const Invocation& call) {
  ProgressWords words;
  bool reads = false;
  std::string pattern;
  std::vector<std::string> operands;
  if (const auto code =
          parse_verb(call, kDoc,
                     {text_option("step", 's', "N", "steps done in all, with those of earlier runs", words.step),
                      text_option("of", 0, "N", "of so many", words.of),
                      text_option("rate", 'r', "X", "steps a second, such as 0.25", words.rate),
                      flag("read", 0, "write on what is read, and tell of the steps in it", reads),
                      text_option("pattern", 0, "RE",
                                  "with --read: a regular expression; its groups are the step, of how many", pattern)},
                     operands))
    return *code;
  const bool has_words = !words.step.empty() || !words.of.empty() || !words.rate.empty();
  if (reads && has_words)
    return failed(call.program, {base::ErrorCode::kInvalid, "--read goes with neither --step, --of nor --rate", ""});
  if (!reads && !pattern.empty())
    return failed(call.program,
                  {base::ErrorCode::kInvalid, "--pattern is for --read", "PROGRAM | gangway progress --read"});
  auto progress = reads ? wire::ProgressRequest() : progress_request(words);
  if (!progress) return failed(call.program, progress.error());
  const auto job = job_in_question(operands, std::getenv("GANGWAY_JOB_ID"), std::getenv("SLURM_JOB_ID"));
  if (!job) return failed(call.program, job.error());
  const auto id = number_of(call.program, *job);
  if (!id) return failed(call.program, id.error());
  if (reads) return read_along(call, pattern, *id);
  progress->set_job_id(*id);
  wire::ApiRequest request;
  *request.mutable_progress() = std::move(*progress);
  const auto reply = ask_controller(call.program, request);
  return reply ? client::kExitOk : failed(call.program, reply.error());
}

}  // namespace gw::cmds
