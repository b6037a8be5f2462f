// What can be put in the way of a job, and how it is taken away again: a table of what there is for each kind of
// blocker.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "model/blocker.h"
#include "tests/unit/ctld_core/obstructed.h"

namespace gw::ctld::testing::obstacles {

using model::BlockerKind;

/// A job passes one gate after the other on its way to a start. THE RULE: what stops it at one gate hides what would
/// stop it at a later one, and of one gate all is told. Before kUnseen the scheduler does not hear of the job, so
/// nothing that it would find is told; `gangway why` tells what it would find all the same.
enum class Gate {
  kForeignRun,
  kHold,
  kDependency,
  kBeginTime,
  kBackoff,
  kBudget,
  kArray,
  kComponents,
  kUnseen,  ///< The scheduler has not come to it.
  kLimits,
  kPartition,
  kStrictOrder,
  kReservation,
  kTimeLimit,
  kNodes,
  kNeighbours,  ///< Enough nodes would do, but not side by side.
  kPlans,       ///< There is a place that is kept for others.
  kTogether,    ///< Or not with those of the other components.
  kWhole,       ///< Or it has more than the quotas leave the job.
};

/// `node`: the one of the job's two nodes that it may be about, so that two obstacles need not be on the same.
using Put = std::function<void(Obstructed&, const std::string& node)>;

struct Obstacle {
  std::string name;
  BlockerKind kind = BlockerKind::kUnknown;
  Gate gate = Gate::kNodes;
  /// Two do not go together if one of them needs alone what the other needs, too.
  std::vector<std::string_view> needs_alone = {}, needs = {};
  std::function<void(Harbour&, const std::string& node)> build = {};  ///< The cluster is made so.
  Put put = {};                                                       ///< Before the job is submitted.
  Put ask = {};                                                       ///< The job asks for it.
  Put begin = {};  ///< The job is submitted, before anything else is in its way.
  Put then = {};   ///< Likewise, with everything else.
  Put lift = {};
};
using Obstacles = std::vector<Obstacle>;

Obstacles all_obstacles();

}  // namespace gw::ctld::testing::obstacles
