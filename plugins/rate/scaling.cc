// Rate model `scaling`: an elastic gang is as fast as its size lets it be, by what is known of how it scales. Who
// shares a GPU slows nobody down.
#include "plugins/rate/support.h"

namespace gw::sched {
namespace {

class Scaling final : public RateModel {
 public:
  std::string_view name() const override { return "scaling"; }
  double rate(const RateFacts& job, const std::vector<RateFacts>&) const override { return rate_by_size(job); }
};

}  // namespace
}  // namespace gw::sched

GW_RATE_PLUGIN(scaling, (gw::base::make_without_weights<gw::sched::RateModel, gw::sched::Scaling>))
