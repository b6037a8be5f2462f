// What each user may take of the controller: requests a second, answers that are kept, jobs, and bytes in the store;
// and when what ended jobs leave there goes. Administrators are counted like everybody, and never refused.
#pragma once

#include "ctld/core/core.h"

namespace gw::ctld {

/// How long the caller has to wait before this request is taken; zero: it is taken now.
base::Duration wait_of(Core& core, const Caller& caller, const wire::ApiRequest& request, bool is_change);
/// The client waits and asks again by itself. Costs little, and shows nothing of the state.
void refuse_for_now(Core& core, ConnId conn, uint64_t request_id, base::Duration wait);
/// Questions that the scheduler is asked cost more than others: of each user ten a second are taken. True: it was told
/// to ask again in a moment.
bool refuse_hurry(Core& core, ConnId conn, const Caller& caller, uint64_t request_id);

/// Has the user room for these jobs? Error kUnavailable: a limit of the user or of the cluster is reached, with which
/// one.
base::Status admit_jobs(const Core& core, const Caller& caller, const wire::SubmitRequest& submit,
                        const model::JobSpec& spec);
/// May what this user has in the store grow by so much?
base::Status admit_growth(const Core& core, const Caller& caller, uint32_t uid, size_t before, size_t after);
/// What a job's options take of memory and store: their row, and for each job that it depends on what the index of
/// those takes.
size_t bytes_of(const model::JobSpec& spec);
/// What the ranges of tasks take for which it stands, if it does for some.
size_t bytes_of_ranges(const Core& core, const model::Job& job);
/// A job was entered: its row, its script and its environment count for its user.
void charge_job(Core& core, const model::Job& job, size_t row_bytes, const BlobUse& script, const BlobUse& environment);
/// The environment of an ended job, which may hold secrets, is deleted unless another job has the same.
void environment_due(Core& core, JobId id);
/// Its script stays in the store for a while, for whoever asks by the job's number.
void job_left_memory(Core& core, JobId id);
/// Some at a time, so that nobody waits for it.
void drop_scripts(Core& core);
/// Blobs that no job in memory uses: environments go, scripts count from when they were last used. Those that a job may
/// need whose row cannot be read stay.
void restore_charges(Core& core, const store::Snapshot& snapshot);

}  // namespace gw::ctld
