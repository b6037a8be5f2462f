// The models that come with the scheduler: those of plugins/rate, linked in. See the header.
#include "sched/policy/rate_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace gw::sched {
namespace builtin::rate {
// Each is defined by GW_RATE_PLUGIN in plugins/rate/NAME.cc; the build lists these files.
#define GW_IN_TREE_RATE(plugin_name, ...) const RatePlugin* plugin_name();
#include "in_tree_rates.inc"
#undef GW_IN_TREE_RATE
}  // namespace builtin::rate

namespace {

constexpr const RatePlugin* (*kRateModels[])() = {
#define GW_IN_TREE_RATE(plugin_name, ...) builtin::rate::plugin_name,
#include "in_tree_rates.inc"
#undef GW_IN_TREE_RATE
};

}  // namespace

std::vector<std::string> rate_model_names() {
  std::vector<std::string> out;
  for (const auto factory : kRateModels) out.emplace_back(factory()->name);
  return out;
}

base::Result<std::shared_ptr<const RateModel>> make_rate_model(std::string_view name, const Weights& weights) {
  for (const auto factory : kRateModels)
    if (factory()->name == name) return factory()->make(weights);
  std::string hint = base::did_you_mean(name, rate_model_names());
  if (hint.empty()) hint = "one of " + base::join(rate_model_names(), ", ");
  return base::invalid(fmt::format("unknown rate model {}", base::printable(name)), hint);
}

double rate_of(const RateModel& model, const RateFacts& job, const std::vector<RateFacts>& beside) {
  constexpr double kLeast = 1e-3, kMost = 1e3;
  const double rate = model.rate(job, beside);
  return std::isfinite(rate) ? std::clamp(rate, kLeast, kMost) : 1;
}

}  // namespace gw::sched
