// The pure parts of `gangway quota`, and of the verbs for jobs to call about themselves.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cmds/shared/job_ids.h"
#include "wire/api.pb.h"

namespace gw::cmds {

/// From two words: names of QOS ("cluster" for the root), or numbers of jobs. Errors: not two, no number of a job.
base::Result<wire::ExplainQuotaRequest> explain_request(const std::vector<std::string>& words);
/// "yes: A may take up to 8 of gpu from B now (rule 5)", and the reasoning below it.
std::string explain_text(const std::string& preemptor, const std::string& from, const wire::ExplainQuotaReply& told);
/// {"schema_version", "preemptor", "from", "may", "rule", "gpus", "lines": [...]}
std::string explain_json(const std::string& preemptor, const std::string& from, const wire::ExplainQuotaReply& told);

/// What a history says of a preemption.
struct PastEvent {
  uint32_t job = 0;
  int64_t time_us = 0;
  std::string text = {};
};
/// A line for each, with its time and job; `word`: as the job was asked about.
std::string past_text(const std::string& word, const std::vector<PastEvent>& events);
/// {"schema_version", "job", "preemptions": [{"job_id", "time", "text"}]}
std::string past_json(const std::string& word, const std::vector<PastEvent>& events);

/// The job that is meant: the one operand, else $GANGWAY_JOB_ID, else $SLURM_JOB_ID (null: not set). Errors: outside a
/// job, not one job.
base::Result<JobIds> job_in_question(const std::vector<std::string>& words, const char* own, const char* slurm);

}  // namespace gw::cmds
