// Why a job waits, and what would help it: the job as it is shown, with what the scheduler says of it and of the
// changes that are tried (offers.h).
// Invariant: nothing is changed, whatever is asked.
#pragma once

#include "ctld/core/core.h"
#include "sched/cycle/outlook.h"
#include "sched/view/quota_path.h"

namespace gw::ctld {

/// Answers why_job. Errors: kNotFound.
void why_job(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request);

/// What the scheduler said of the job as it is, for the answer.
void put_outlook(const sched::Outlook& outlook, wire::WhyJobReply& out);
/// And how it stands in the tree of quotas.
void put_quotas(const sched::QuotaPath& path, wire::WhyJobReply& out);
/// And of one of the offers.
void put_outlook(const sched::Outlook& outlook, wire::JobOffer& out);
/// And of a submission that is only tested.
void put_outlook(const sched::Outlook& outlook, const sched::PendingJob& job, wire::SubmitReply& out);

}  // namespace gw::ctld
