// The two parts of an allocation in suspension; see suspension.h.
#include "model/suspension.h"

namespace gw::model {

Allocation kept_in_suspension(const Allocation& given, bool shares_gpus) {
  Allocation out = given;
  for (NodeShare& share : out.shares) {
    share.tasks = share.cpus = 0;
    share.cores = {};
    if (shares_gpus) share.gpus = {};
  }
  return out;
}

Allocation freed_in_suspension(const Allocation& given, bool shares_gpus) {
  Allocation out = given;
  for (NodeShare& share : out.shares) {
    share.mem_mb = 0;
    share.gres = {};  // what is written to a disk stays there
    if (!shares_gpus) share.gpus = {};
  }
  return out;
}

}  // namespace gw::model
