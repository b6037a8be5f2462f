// Order `fifo`: in order of submission; nothing passes the first that is blocked.
#include "plugins/order/support.h"

namespace gw::sched {
namespace {

class Fifo final : public Order {
 public:
  std::string_view name() const override { return "fifo"; }
  double score(const JobFacts& facts, const OrderContext&) const override { return boost(facts.job); }
  bool is_strict() const override { return true; }
};

}  // namespace
}  // namespace gw::sched

GW_ORDER_PLUGIN(fifo, gw::sched::make_plain<gw::sched::Fifo>)
