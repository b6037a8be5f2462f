// Answers about quotas, and about what they leave, from the scheduler's view. Pure; runs in the scheduler's thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sched/cycle/plan.h"
#include "sched/view/view.h"
#include "wire/api.pb.h"

namespace gw::ctld {

/// `request` is show_shares or explain_quota, with names in place of job ids, or list_offers with nothing left out.
/// `planned`: as AskScheduler has it.
wire::ApiReply answer_from(const sched::ClusterView& view, base::Time now, const wire::ApiRequest& request,
                           const std::vector<sched::PlannedStart>& planned = {});

/// How a QOS stands, with those below it.
struct QosFigures {
  std::string qos;
  uint32_t running = 0, waiting = 0;                        ///< Jobs.
  double guaranteed = 0, held = 0, borrowed = 0, lent = 0;  ///< GPUs.
  bool operator==(const QosFigures&) const = default;
};
/// Of all QOS but the root.
std::vector<QosFigures> quota_figures(const sched::ClusterView& view);

}  // namespace gw::ctld
