// See policies.h.
#include "plugin/policies.h"

namespace gw::plugin {

using base::Result;

Kind share_kind() { return {"share", sched::kShareFactory, sched::kShareInterface, GW_SHARE_BUILD_HASH}; }
Kind rate_kind() { return {"rate", sched::kRateFactory, sched::kRateInterface, GW_RATE_BUILD_HASH}; }
Kind filter_kind() { return {"filter", sched::kFilterFactory, sched::kFilterInterface, GW_FILTER_BUILD_HASH}; }

Result<sched::ChosenShare> load_share(const Folders& folders, std::string_view name, const sched::Weights& weights) {
  GW_TRY(facts, folders.load(share_kind(), name));
  GW_TRY(policy, static_cast<const sched::SharePlugin*>(facts)->make(weights));
  return sched::ChosenShare{std::string(name), weights, facts->version, std::move(policy)};
}

Result<std::shared_ptr<const sched::RateModel>> load_rate_model(const Folders& folders, std::string_view name,
                                                                const sched::Weights& weights) {
  GW_TRY(facts, folders.load(rate_kind(), name));
  return static_cast<const sched::RatePlugin*>(facts)->make(weights);
}

Result<sched::ChosenFilter> load_filter(const Folders& folders, std::string_view name, const sched::Weights& weights) {
  GW_TRY(facts, folders.load(filter_kind(), name));
  GW_TRY(policy, static_cast<const sched::FilterPlugin*>(facts)->make(weights));
  return sched::ChosenFilter{std::string(name), weights, facts->version, std::move(policy)};
}

}  // namespace gw::plugin
