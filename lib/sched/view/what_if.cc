// See what_if.h.
#include "sched/view/what_if.h"

#include <utility>

namespace gw::sched {

WhatIf::WhatIf(ClusterView& view, const PendingJob& job) : view_(view), job_(job), gains_(view.capacity_.gains()) {
  queue_.set_orders(view.orders_, view.splits_by_user());
  for (const JobId id : view.cursor_.in_way())
    if (const PendingJob* other = view.queue_.find(id)) queue_.put(*other);
  for (const auto& [made, nomination] : view.nominations_)
    if (const PendingJob* other = view.queue_.find(nomination.job)) queue_.put(*other);
  if (const PendingJob* before = view.queue_.find(job.id)) before_ = *before;
  queue_.put(job_);
  const auto made = view.nomination_of_.find(job.id);
  if (made != view.nomination_of_.end() && before_ && class_key(*before_) != class_key(job_))
    nomination_ = *view.nominations_.find(made->second);
  if (nomination_) view.nominations_.erase(nomination_->first);
  if (before_) view.quota_.remove_waiting(*before_);
  view.quota_.add_waiting(job_);
  swap_with_view();
}

WhatIf::~WhatIf() {
  swap_with_view();
  view_.quota_.remove_waiting(job_);
  if (before_) view_.quota_.add_waiting(*before_);
  if (nomination_) view_.nominations_.insert(std::move(*nomination_));
  view_.capacity_.restore_gains(std::move(gains_));
}

void WhatIf::swap_with_view() {
  std::swap(view_.queue_, queue_);
  std::swap(view_.cursor_, cursor_);
  view_.queue_.swap_ready_times(queue_);  // they are of the cluster
}

}  // namespace gw::sched
