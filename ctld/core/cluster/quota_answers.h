// Answers about quotas from the scheduler's view. Pure; runs in the scheduler's thread.
#pragma once

#include "sched/view/view.h"
#include "wire/api.pb.h"

namespace gw::ctld {

/// `request` is show_shares or explain_quota, with names in place of job ids.
wire::ApiReply answer_from(const sched::ClusterView& view, base::Time now, const wire::ApiRequest& request);

}  // namespace gw::ctld
