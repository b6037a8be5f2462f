// How the QOS stand, for monitoring: asked of the scheduler's view soon after a plan, once a second at most, so that no
// scrape waits for it and none costs anything. From the loop's thread.
#pragma once

#include <memory>
#include <vector>

#include "ctld/core/cluster/quota_answers.h"
#include "ctld/shell/scheduler_thread.h"
#include "io/loop.h"

namespace gw::ctld {

class QuotaWatch {
 public:
  QuotaWatch(io::Loop& loop, SchedulerThread& scheduler) : loop_(loop), scheduler_(scheduler) {}
  ~QuotaWatch() { *alive_ = false; }
  QuotaWatch(const QuotaWatch&) = delete;
  QuotaWatch& operator=(const QuotaWatch&) = delete;

  /// Something may have changed.
  void look_again();
  const std::vector<QosFigures>& latest() const { return latest_; }

 private:
  io::Loop& loop_;
  SchedulerThread& scheduler_;
  io::Timer timer_;
  bool is_due_ = false;
  std::vector<QosFigures> latest_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace gw::ctld
