// Order `shortest`: the shortest first, by time limit; in a replay by duration.
#include "plugins/order/support.h"

namespace gw::sched {
namespace {

class Shortest final : public Order {
 public:
  std::string_view name() const override { return "shortest"; }
  double score(const PendingJob& job, const OrderContext&) const override { return -remaining_seconds(job); }
  double key(const PendingJob& job) const override { return remaining_seconds(job); }
  bool looks_at_durations() const override { return true; }
};

}  // namespace
}  // namespace gw::sched

GW_ORDER_PLUGIN(shortest, gw::sched::make_plain<gw::sched::Shortest>)
