// What plug-ins of any kind need to read their weights.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/plugin.h"
#include "base/text.h"

namespace gw::base {

/// Errors: a weight that is not among the plug-in's names (GW_PLUGIN_WEIGHTS).
inline Status check_weights(const Weights& weights, std::span<const std::string_view> names) {
  const std::vector<std::string> known(names.begin(), names.end());
  for (const auto& [name, value] : weights)
    if (std::find(known.begin(), known.end(), name) == known.end())
      return invalid("unknown weight " + name, did_you_mean(name, known));
  return {};
}

/// A weight, or its default.
inline double weight_of(const Weights& weights, const Weights& defaults, const std::string& name) {
  const auto it = weights.find(name);
  return it != weights.end() ? it->second : defaults.at(name);
}

}  // namespace gw::base
