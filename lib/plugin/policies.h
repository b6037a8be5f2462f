// Loads plug-ins of the kinds `share`, `rate` and `filter` (share_policy.h, rate_model.h and filter_policy.h of
// sched/policy).
#pragma once

#include <memory>
#include <string_view>

#include "plugin/folders.h"
#include "sched/policy/filter_policy.h"
#include "sched/policy/rate_model.h"
#include "sched/policy/share_policy.h"

namespace gw::plugin {

/// As this program knows them.
Kind share_kind();
Kind rate_kind();
Kind filter_kind();

/// Errors: those of Folders::load(); a weight that the policy does not know.
base::Result<sched::ChosenShare> load_share(const Folders& folders, std::string_view name,
                                            const sched::Weights& weights);
base::Result<std::shared_ptr<const sched::RateModel>> load_rate_model(const Folders& folders, std::string_view name,
                                                                      const sched::Weights& weights);
base::Result<sched::ChosenFilter> load_filter(const Folders& folders, std::string_view name,
                                              const sched::Weights& weights);

}  // namespace gw::plugin
