// gangway checkpointed [JOBID].
#include <cstdlib>

#include "base/text.h"
#include "cmds/gangway/shared/ask_controller.h"
#include "cmds/gangway/shared/verbs.h"
#include "cmds/gangway/verbs/quota_words.h"

namespace gw::cmds {
namespace {

const client::CommandDoc kDoc = {
    "tell that a job's work is saved as of now",
    "[JOBID]",
    "For jobs to call once they have written a checkpoint: what a job has done until then is not lost if it is taken "
    "off, "
    "so that others are taken before it. Without JOBID the job that this runs in is meant ($GANGWAY_JOB_ID, else "
    "$SLURM_JOB_ID). A job that is told to go, and saves its work then, says so by this or by ending with exit code 0.",
    {{"0", "the controller knows"}, {"1", "no such job, not yours, outside a job, or no answer"}},
    {{"GANGWAY_JOB_ID", "the job, without JOBID"},
     {"SLURM_JOB_ID", "the same, where that is not set"},
     {"GANGWAY_CONF", "path of the configuration"}},
    {{"gangway checkpointed", "in a job's script, behind what saves its state"}},
    {},
};

}  // namespace

base::Result<JobIds> job_in_question(const std::vector<std::string>& words, const char* own, const char* slurm) {
  if (words.size() > 1) return base::invalid("one job at a time");
  const char* variable = own != nullptr && *own != '\0' ? own : slurm;
  const std::string text = !words.empty() ? words[0] : variable != nullptr ? variable : "";
  if (text.empty() && words.empty())
    return base::invalid("this runs in no job: neither GANGWAY_JOB_ID nor SLURM_JOB_ID is set",
                         "outside a job name one: JOBID");
  JobIds ids;
  GW_TRY_STATUS(parse_job_ids(text, ids));
  if (ids.size() != 1) return base::invalid("one job at a time");
  return ids;
}

int checkpointed_verb(const Invocation& call) {
  std::vector<std::string> operands;
  if (const auto code = parse_verb(call, kDoc, {}, operands)) return *code;
  const auto job = job_in_question(operands, std::getenv("GANGWAY_JOB_ID"), std::getenv("SLURM_JOB_ID"));
  if (!job) return failed(call.program, job.error());
  const auto id = number_of(call.program, *job);
  if (!id) return failed(call.program, id.error());
  wire::ApiRequest request;
  request.mutable_checkpointed()->set_job_id(*id);
  const auto reply = ask_controller(call.program, request);
  return reply ? client::kExitOk : failed(call.program, reply.error());
}

}  // namespace gw::cmds
