// See job_labels.h.
#include "client/show/job_labels.h"

#include <set>
#include <utility>

#include "client/show/job_view.h"
#include "model/job_state.h"

namespace gw::client {

bool ask_for_labels(const google::protobuf::RepeatedPtrField<wire::Job>& jobs, wire::ShowSharesRequest& request) {
  constexpr size_t kMostNamed = 1000;  // more are cheaper to ask for all together
  std::set<uint32_t> ids;
  for (const wire::Job& job : jobs) {
    const model::JobState state = state_of(job);
    if (state != model::JobState::kRunning && !suspended_at(job)) continue;
    ids.insert(job.spec().het_job() != 0 ? job.spec().het_job() : job.id());
  }
  if (ids.size() > kMostNamed)
    request.set_all_jobs(true);
  else
    request.mutable_job_ids()->Assign(ids.begin(), ids.end());
  return !ids.empty();
}

JobLabels::JobLabels(wire::ShowSharesReply reply) {
  labels_.Swap(reply.mutable_labels());
  for (int i = 0; i < labels_.size(); ++i) index_[labels_[i].job_id()] = i;
}

const wire::JobLabel* JobLabels::of(const wire::Job& job) const {
  const auto it = index_.find(job.spec().het_job() != 0 ? job.spec().het_job() : job.id());
  return it == index_.end() ? nullptr : &labels_[it->second];
}

}  // namespace gw::client
