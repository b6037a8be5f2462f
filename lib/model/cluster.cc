// Names of the enums of cluster.h.
#include "model/cluster.h"

#include "base/check.h"

namespace gw::model {

std::string_view name(PartitionState s) {
  switch (s) {
    case PartitionState::kUp:
      return "UP";
    case PartitionState::kDown:
      return "DOWN";
    case PartitionState::kDrain:
      return "DRAIN";
    case PartitionState::kInactive:
      return "INACTIVE";
  }
  GW_CHECK(!"a partition state outside its enum");
}

}  // namespace gw::model
