// One message of each kind that clients and nodes send, which the controller takes as it is: what the oracle grows.
// A kind that has none here fails the test, which says so.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tests/cost/world.h"

namespace gw::cost {

struct Example {
  std::string kind;       ///< The field of ApiRequest or NodeToController.
  uint32_t uid = 0;       ///< Who asks.
  std::string node;       ///< Which node says it.
  bool has_pass = false;  ///< The pass of the scheduler that follows is counted too.
  std::string bytes;
  std::function<void(CostWorld&)> before;  ///< What happens first, uncounted; may be none.
};

std::vector<Example> requests(CostWorld& world);
std::vector<Example> node_messages(CostWorld& world);

}  // namespace gw::cost
