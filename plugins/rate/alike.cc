// Rate model `alike`: a job takes as long whatever its size, and whoever shares its GPUs. What a simulation does that
// names no model.
#include "sched/policy/rate_model.h"

namespace gw::sched {
namespace {

class Alike final : public RateModel {
 public:
  std::string_view name() const override { return "alike"; }
  double rate(const RateFacts&, const std::vector<RateFacts>&) const override { return 1; }
};

}  // namespace
}  // namespace gw::sched

GW_RATE_PLUGIN(alike, (gw::base::make_without_weights<gw::sched::RateModel, gw::sched::Alike>))
