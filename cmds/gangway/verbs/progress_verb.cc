// gangway progress [--step N] [--of N] [--rate X] [JOBID].
#include <cstdlib>

#include "base/text.h"
#include "cmds/gangway/shared/ask_controller.h"
#include "cmds/gangway/shared/verbs.h"
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
    "kept.\n\nWithout JOBID the job that this runs in is meant.",
    {{"0", "the controller knows"},
     {"1", "bad words, no such job, not yours, outside a job, not running, or no answer"}},
    {{"GANGWAY_JOB_ID", "the job, without JOBID"},
     {"SLURM_JOB_ID", "the same, where that is not set"},
     {"GANGWAY_CONF", "path of the configuration"}},
    {{"gangway progress --step 1200 --of 10000", "in a job, after its 1200th step"},
     {"gangway progress --rate 3.2", "so many steps a second, measured by the job itself"}},
    {},
};

}  // namespace

int progress_verb(const Invocation& call) {
  ProgressWords words;
  std::vector<std::string> operands;
  if (const auto code =
          parse_verb(call, kDoc,
                     {text_option("step", 's', "N", "steps done in all, with those of earlier runs", words.step),
                      text_option("of", 0, "N", "of so many", words.of),
                      text_option("rate", 'r', "X", "steps a second, such as 0.25", words.rate)},
                     operands))
    return *code;
  auto progress = progress_request(words);
  if (!progress) return failed(call.program, progress.error());
  const auto job = job_in_question(operands, std::getenv("GANGWAY_JOB_ID"), std::getenv("SLURM_JOB_ID"));
  if (!job) return failed(call.program, job.error());
  const auto id = number_of(call.program, *job);
  if (!id) return failed(call.program, id.error());
  progress->set_job_id(*id);
  wire::ApiRequest request;
  *request.mutable_progress() = std::move(*progress);
  const auto reply = ask_controller(call.program, request);
  return reply ? client::kExitOk : failed(call.program, reply.error());
}

}  // namespace gw::cmds
