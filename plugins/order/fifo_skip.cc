// Order `fifo_skip`: in order of submission; what is blocked is passed by.
#include "plugins/order/support.h"

namespace gw::sched {
namespace {

class FifoSkip final : public Order {
 public:
  std::string_view name() const override { return "fifo_skip"; }
  double score(const JobFacts& facts, const OrderContext&) const override { return boost(facts.job); }
};

}  // namespace
}  // namespace gw::sched

GW_ORDER_PLUGIN(fifo_skip, gw::sched::make_plain<gw::sched::FifoSkip>)
