// The `rate` kind of plug-in: how fast a job gets on, by the size that it has and by those with which it shares its
// GPUs. The simulator makes jobs run at such rates, where a scenario or a replay names a model; the scheduler itself
// goes by what jobs tell (`gangway progress`). Combining rule: one model is in force for all jobs of a simulation.
// Contract: a pure function of its arguments; a job of full size that shares nothing has the rate 1.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/plugin.h"

namespace gw::sched {

using base::Weights;

/// Counts up with each change of this header or of what it shows.
constexpr uint32_t kRateInterface = 1;

/// How long each part of one iteration of a job takes by itself, in whatever unit: reading from storage, preparing on
/// cores, computing on GPUs, telling the others over the network. All zero: it is not known.
using Stages = std::array<double, 4>;

/// A job as a rate model sees it.
struct RateFacts {
  uint32_t tasks = 1;       ///< That it has now.
  uint32_t full_tasks = 1;  ///< With which it would take the time that is told of it.
  uint32_t scaling = 100;   ///< With k times the tasks it is k^(scaling / 100) times as fast.
  Stages stages = {};
};

class RateModel {
 public:
  virtual ~RateModel() = default;
  virtual std::string_view name() const = 0;
  /// Work done in a second, in seconds of work at full size and alone. `beside`: those on any of its GPUs.
  virtual double rate(const RateFacts& job, const std::vector<RateFacts>& beside) const = 0;
};

using RatePlugin = base::Plugin<RateModel>;
/// Name of the function that a plug-in exports.
constexpr const char* kRateFactory = "gangway_rate_plugin";

/// Makes a model of a name: make_rate_model(), or the loader of plug-ins.
using MakeRateModel =
    std::function<base::Result<std::shared_ptr<const RateModel>>(std::string_view name, const Weights& weights)>;

/// The models that come with the scheduler (those of plugins/rate), without loading a file. Errors: unknown name (with
/// "did you mean"), unknown weight.
base::Result<std::shared_ptr<const RateModel>> make_rate_model(std::string_view name, const Weights& weights = {});
/// Names that make_rate_model() knows.
std::vector<std::string> rate_model_names();

/// What a model says, kept to what a simulation can go by: a thousandth to a thousand; what is no number is 1.
double rate_of(const RateModel& model, const RateFacts& job, const std::vector<RateFacts>& beside);

}  // namespace gw::sched

#define GW_RATE_PLUGIN(plugin_name, make_it) \
  GW_PLUGIN_OF(rate, ::gw::sched::RateModel, ::gw::sched::kRateInterface, GW_RATE_BUILD_HASH, plugin_name, make_it)
