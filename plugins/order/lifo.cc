// Order `lifo`: the latest submission first; what is blocked is passed by. For people who look at what they sent last.
#include "plugins/order/support.h"

namespace gw::sched {
namespace {

class Lifo final : public Order {
 public:
  std::string_view name() const override { return "lifo"; }
  double score(const JobFacts& facts, const OrderContext&) const override { return -key(facts); }
  /// A step of nice or of a QOS's priority is more than any time of submission in seconds.
  double key(const JobFacts& facts) const override {
    return -(boost(facts.job) * 1e10 + static_cast<double>(facts.job.submitted.seconds()));
  }
  std::vector<ScorePart> parts(const JobFacts& facts, const OrderContext&) const override {
    return {{"priority of the QOS less nice", boost(facts.job), 1e10},
            {"submitted", static_cast<double>(facts.job.submitted.seconds()), 1}};
  }
};

}  // namespace
}  // namespace gw::sched

GW_ORDER_PLUGIN(lifo, gw::sched::make_plain<gw::sched::Lifo>)
