// Order `srtf`: the shortest remaining time first, taking off running jobs that have longer to go.
#include "plugins/order/support.h"

namespace gw::sched {
namespace {

class Srtf final : public Order {
 public:
  std::string_view name() const override { return "srtf"; }
  double score(const PendingJob& job, const OrderContext&) const override { return -remaining_seconds(job); }
  double key(const PendingJob& job) const override { return remaining_seconds(job); }
  bool looks_at_durations() const override { return true; }
  bool is_preemptive() const override { return true; }
};

}  // namespace
}  // namespace gw::sched

GW_ORDER_PLUGIN(srtf, gw::sched::make_plain<gw::sched::Srtf>)
